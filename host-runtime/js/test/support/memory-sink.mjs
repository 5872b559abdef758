// A sink that keeps what it is given.
import { writeFileSync } from 'node:fs';

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
        chunks.push({ kind, recorder: trace.readUInt32LE(at + 8), sequence: trace.readUInt32LE(at + 12), payload });
        at += 28 + length;
    }
    return chunks;
}
