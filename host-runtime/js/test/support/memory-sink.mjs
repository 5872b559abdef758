// A sink that keeps its chunks.
import { writeFileSync } from 'node:fs';
import * as zlib from 'node:zlib';

export class MemorySink {
    chunks = [];
    closed = false;

    chunk(bytes) {
        this.chunks.push(bytes);
    }

    close() {
        this.closed = true;
    }

    bytes() {
        return Buffer.concat(this.chunks);
    }

    save(path) {
        writeFileSync(path, this.bytes());
        return path;
    }
}

/** The chunks of a trace: kind, recorder, sequence, payload. */
export function chunksOf(trace) {
    const chunks = [];
    for (let at = 8; at < trace.length; ) {
        const length = trace.readUInt32LE(at + 16);
        const payload = trace.subarray(at + 28, at + 28 + length);
        const kind = trace.toString('latin1', at + 4, at + 8);
        const bytes = trace.subarray(at, at + 28 + length);
        chunks.push(
            { kind, recorder: trace.readUInt32LE(at + 8), sequence: trace.readUInt32LE(at + 12), payload, bytes },
        );
        at += 28 + length;
    }
    return chunks;
}

/** The payload of an `EVTS` chunk with its columns stored as they are: not every host can pack them. */
export function unpacked(payload) {
    const columns = [];
    const head = Buffer.from(payload.subarray(0, 48));
    let at = 48;
    for (let n = 0; n < 3; n++) {
        const stored = payload.readUInt32LE(28 + 8 * n);
        const column = payload.subarray(at, at + stored);
        columns.push(payload[2] & (1 << n) ? zlib.zstdDecompressSync(column) : column);
        head.writeUInt32LE(columns[n].length, 28 + 8 * n);
        at += stored;
    }
    head[2] = 0;
    return Buffer.concat([head, ...columns]);
}
