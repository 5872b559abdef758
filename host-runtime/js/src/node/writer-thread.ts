/** The thread that turns blocks into chunks and gives them to the sink. */

import { BroadcastChannel, receiveMessageOnPort, workerData, type MessagePort } from 'node:worker_threads';
import * as zlib from 'node:zlib';
import { coreModuleSync } from './core.js';
import { CoreColumns } from './core-columns.js';
import { FileSink } from './file-sink.js';
import { Follower } from './follower.js';
import { Hub, Message } from './hub.js';
import { Lookout } from './lookout.js';
import { threadOffset } from './offset.js';
import { giveWay } from './priority.js';
import { anchorOf, threadClock } from '../common/clock/clock.js';
import { Reason } from '../common/constants.js';
import type { SharedLane } from '../common/recorder/shared-lane.js';
import { TraceWriter } from '../common/trace/trace-writer.js';
import type { Codecs } from '../common/trace/trace-writer.js';
import type { Header, Summary, SummaryInput } from '../common/trace/trace.js';

/** What the thread begins with. */
export interface WriterData {
    kperf: 'writer';
    hub: WebAssembly.Memory;
    path: string;
    header: Header;
    /** The channel on which other threads announce their lanes. */
    lanes: string;
    /** See `threadOffset`. */
    origin: number;
    /** Shared with the thread that sends the file. */
    follower?: SharedArrayBuffer;
}

/** A lane of another thread. */
export interface AnnouncedLane extends SharedLane {
    number: number;
}

/** The thread's answer at the end, as JSON. It has no summary if there was nothing to write. */
export interface Written {
    summary?: Omit<Summary, keyof SummaryInput>;
    /** See `Summary`. */
    other?: number;
    failure?: string;
}

/** The last message to the thread, as JSON. */
export interface Ending {
    summary: SummaryInput;
    stalls: [start: number, nanos: number][];
}

/** Functions that the types of the oldest supported node don't have. */
interface ZlibOfToday {
    crc32: (bytes: Uint8Array) => number;
    zstdCompressSync: (bytes: Uint8Array, options: { params: Record<number, number> }) => Uint8Array;
    constants: { ZSTD_c_compressionLevel: number };
}

/** While no blocks wait, lanes are read every so many milliseconds. A few blocks may be noticed that late. */
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

/** The checksum that node has from 20.15 on, and zstd, from 22.15 on. */
function codecsOf({ header, origin }: WriterData): Codecs {
    const { crc32, zstdCompressSync, constants } = zlib as unknown as Partial<ZlibOfToday>;
    const codecs: Codecs = {};
    if (crc32) codecs.crc32 = crc32;
    if (zstdCompressSync) {
        const params = { [constants?.ZSTD_c_compressionLevel ?? 100]: 1 };
        codecs.zstd = (bytes) => zstdCompressSync(bytes, { params });
    }
    if (header.clock.source !== 'test' && header.clock.kind !== 'instructions') {
        const clock = threadClock(threadOffset(origin));
        codecs.anchor = () => anchorOf(clock);
    }
    codecs.columns = new CoreColumns(coreModuleSync(), codecs.zstd);
    return codecs;
}

function write(data: WriterData): Written {
    const { path, header, lanes, follower } = data;
    const codecs = codecsOf(data);
    const sink = new FileSink(path);
    // The file is made when the first message comes, so a program without probed modules leaves none.
    let writer: TraceWriter | undefined;
    const begin = (): TraceWriter => {
        if (!writer) {
            writer = new TraceWriter(sink, header, codecs);
            if (follower && !writer.failure) new Follower(follower).begin(sink.other !== undefined);
        }
        return writer;
    };
    const channel = new BroadcastChannel(lanes);
    channel.unref();
    hub.warm();
    hub.listen();
    const lookout = new Lookout();
    const receiveLanes = (): void => {
        // The function takes broadcast channels too, which the types don't say.
        for (let message; (message = receiveMessageOnPort(channel as unknown as MessagePort)); ) {
            const { number, ...shared } = message.message as AnnouncedLane;
            lookout.add(number, shared);
        }
    };
    // With the test clock a trace is the same each time.
    const patience = header.clock.source === 'test' ? Infinity : LOOK;
    let looked = performance.now();
    let parts: Uint8Array[] = [];
    let ending: Ending | undefined;
    // Other threads may go on after the end. Only what they have sent by then is written.
    while (!ending || hub.waiting > 0) {
        const received = hub.receive(Math.max(0, looked + patience - performance.now()));
        if (!received) {
            looked = performance.now();
            receiveLanes();
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
            receiveLanes();
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
        if (kind === Message.Clock) {
            if (!writer) header.clock = JSON.parse(whole.toString()) as Header['clock'];
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
    receiveLanes();
    const { stalls } = ending;
    for (const [lane, block] of lookout.rest(Reason.Unfinished, ending.summary.end_ticks)) writer?.block(lane, block);
    channel.close();
    if (!writer) return {};
    for (const [start, nanos] of stalls) writer.stall(start, nanos);
    const { events, blocks, dropped_events, probes } = writer.finish(ending.summary);
    sink.close();
    const summary = { events, blocks, dropped_events, probes };
    return { summary, ...(writer.failure && { failure: writer.failure.message }), ...(sink.other !== undefined && { other: sink.other }) };
}
