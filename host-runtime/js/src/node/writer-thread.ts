/** The thread that makes chunks of blocks and gives them to the sink. */

import { workerData } from 'node:worker_threads';
import * as zlib from 'node:zlib';
import { FileSink } from './file-sink.js';
import { Hub, Message } from './hub.js';
import { TraceWriter } from '../common/trace-writer.js';
import type { Codecs } from '../common/trace-writer.js';
import type { Header, Summary, Told } from '../common/trace.js';

/** What the thread begins with. */
export interface WriterData {
    kperf: 'writer';
    hub: SharedArrayBuffer;
    path: string;
    header: Header;
}

/** What it says at the end, as JSON; without a summary where there was nothing to write. */
export interface Written {
    summary?: Summary;
    failure?: string;
}

/** What it is told at the end, as JSON. */
export interface Ending {
    told: Told;
    stalls: [start: number, nanos: number][];
}

const data = workerData as WriterData;
const hub = new Hub(data.hub);
hub.answer(JSON.stringify(write(data)));

function write({ path, header }: WriterData): Written {
    const codecs: Codecs = 'crc32' in zlib ? { crc32: zlib.crc32 as (bytes: Uint8Array) => number } : {};
    const sink = new FileSink(path);
    // Not before something comes: a program without probed modules leaves no file.
    let writer: TraceWriter | undefined;
    const begin = (): TraceWriter => (writer ??= new TraceWriter(sink, header, codecs));
    let parts: Uint8Array[] = [];
    for (;;) {
        const { kind, recorder, more, bytes } = hub.receive();
        if (kind === Message.Block) {
            begin().block(recorder, bytes);
            hub.done();
            continue;
        }
        parts.push(bytes.slice());
        hub.done();
        if (more) continue;
        const whole = Buffer.concat(parts);
        parts = [];
        if (kind === Message.Symbols) {
            begin().symbols(whole);
            continue;
        }
        const { told, stalls } = JSON.parse(whole.toString()) as Ending;
        if (!writer) return {};
        for (const [start, nanos] of stalls) writer.stall(start, nanos);
        const summary = writer.finish(told);
        sink.close();
        return writer.failure ? { summary, failure: writer.failure.message } : { summary };
    }
}
