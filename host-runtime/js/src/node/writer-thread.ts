/** The thread that makes chunks of blocks and gives them to the sink. */

import { BroadcastChannel, receiveMessageOnPort, workerData, type MessagePort } from 'node:worker_threads';
import * as zlib from 'node:zlib';
import { coreModuleSync } from './core.js';
import { CoreColumns } from './core-columns.js';
import { FileSink } from './file-sink.js';
import { Follower } from './follower.js';
import { Hub, Message } from './hub.js';
import { Lookout } from './lookout.js';
import { giveWay } from './priority.js';
import { Reason } from '../common/constants.js';
import type { SharedLane } from '../common/shared-lane.js';
import { TraceWriter } from '../common/trace-writer.js';
import type { Codecs } from '../common/trace-writer.js';
import type { Header, Summary, Told } from '../common/trace.js';

/** What the thread begins with. */
export interface WriterData {
    kperf: 'writer';
    hub: WebAssembly.Memory;
    path: string;
    header: Header;
    /** The channel on which other threads tell of their lanes. */
    lanes: string;
    /** Shared with the thread that sends the file. */
    follower?: SharedArrayBuffer;
}

/** A lane of another thread. */
export interface AnnouncedLane extends SharedLane {
    number: number;
}

/** What it says at the end, as JSON, beside what it was told; without a summary where there was nothing to write. */
export interface Written {
    summary?: Omit<Summary, keyof Told>;
    failure?: string;
}

/** What it is told at the end, as JSON. */
export interface Ending {
    told: Told;
    stalls: [start: number, nanos: number][];
}

/** Newer than the types of the oldest node. */
interface ZlibOfToday {
    crc32: (bytes: Uint8Array) => number;
    zstdCompressSync: (bytes: Uint8Array, options: { params: Record<number, number> }) => Uint8Array;
    constants: { ZSTD_c_compressionLevel: number };
}

/** How often lanes are looked into, in milliseconds, while no blocks wait; and how late a few blocks may be noticed. */
const LOOK = 100;

const data = workerData as WriterData;
const hub = new Hub(data.hub);
giveWay();
let written: Written;
try {
    written = write(data);
} catch (error) {
    written = { failure: String(error) };
}
hub.answer(JSON.stringify(written));

/** What this node has: a checksum from 20.15 on, zstd from 22.15 on. */
function codecsOf(): Codecs {
    const { crc32, zstdCompressSync, constants } = zlib as unknown as Partial<ZlibOfToday>;
    const codecs: Codecs = {};
    if (crc32) codecs.crc32 = crc32;
    if (zstdCompressSync) {
        const params = { [constants?.ZSTD_c_compressionLevel ?? 100]: 1 };
        codecs.zstd = (bytes) => zstdCompressSync(bytes, { params });
    }
    codecs.columns = new CoreColumns(coreModuleSync(), codecs.zstd);
    return codecs;
}

function write({ path, header, lanes, follower }: WriterData): Written {
    const codecs = codecsOf();
    const sink = new FileSink(path);
    // Not before something comes: a program without probed modules leaves no file.
    let writer: TraceWriter | undefined;
    const begin = (): TraceWriter => {
        if (!writer) {
            writer = new TraceWriter(sink, header, codecs);
            if (follower && !writer.failure) new Follower(follower).begin();
        }
        return writer;
    };
    const channel = new BroadcastChannel(lanes);
    channel.unref();
    hub.warm();
    hub.listen();
    const lookout = new Lookout();
    const hear = (): void => {
        // It takes broadcast channels too; the types do not say so.
        for (let message; (message = receiveMessageOnPort(channel as unknown as MessagePort)); ) {
            const { number, ...shared } = message.message as AnnouncedLane;
            lookout.add(number, shared);
        }
    };
    // Under the clock for tests a trace is the same each time.
    const patience = header.clock.source === 'test' ? Infinity : LOOK;
    let looked = performance.now();
    let parts: Uint8Array[] = [];
    let ending: Ending | undefined;
    // Other threads run on at the end. What they have sent by then is written.
    while (!ending || hub.waiting > 0) {
        const received = hub.receive(Math.max(0, looked + patience - performance.now()));
        if (!received) {
            looked = performance.now();
            hear();
            for (const [lane, block] of lookout.look()) begin().block(lane, block);
            continue;
        }
        const { kind, recorder, first, more, bytes } = received;
        if (kind === Message.Block) {
            begin().block(recorder, lookout.unwritten(recorder, bytes));
            hub.done();
            continue;
        }
        if (kind === Message.Ended) {
            hear();
            lookout.end(recorder);
            hub.done();
            continue;
        }
        if (first) parts = [];
        parts.push(bytes.slice());
        hub.done();
        if (more) continue;
        const whole = Buffer.concat(parts);
        parts = [];
        if (kind === Message.ProbeCost) {
            if (!writer) header.probe_cost = JSON.parse(whole.toString()) as NonNullable<Header['probe_cost']>;
            continue;
        }
        if (kind === Message.Window) {
            begin().window(recorder, whole);
            continue;
        }
        if (kind === Message.Span) {
            begin().block(recorder, whole, 'SPAN');
            continue;
        }
        if (kind === Message.Parent) {
            begin().parent(recorder, whole);
            continue;
        }
        if (kind === Message.Symbols) {
            begin().symbols(whole);
            continue;
        }
        ending = JSON.parse(whole.toString()) as Ending;
        hub.refuse();
    }
    hear();
    const { told, stalls } = ending;
    for (const [lane, block] of lookout.rest(Reason.Unfinished, told.end_ticks)) writer?.block(lane, block);
    channel.close();
    if (!writer) return {};
    for (const [start, nanos] of stalls) writer.stall(start, nanos);
    const { events, blocks, dropped_events, probes } = writer.finish(told);
    sink.close();
    const summary = { events, blocks, dropped_events, probes };
    return writer.failure ? { summary, failure: writer.failure.message } : { summary };
}
