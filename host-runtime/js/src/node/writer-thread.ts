/** The thread that writes blocks to the trace's file. */

import { workerData } from 'node:worker_threads';
import * as zlib from 'node:zlib';
import { Inbox } from './channel.js';
import { coreModuleSync } from './core.js';
import { CoreColumns } from './core-columns.js';
import { FileSink } from './file-sink.js';
import { Follower } from './follower.js';
import { Hub, Message } from './hub.js';
import { Lookout } from './lookout.js';
import { giveWay, threadOffset } from './thread.js';
import { anchorOf, threadClock } from '../common/clock/clock.js';
import { Reason } from '../common/constants.js';
import type { Ending } from '../common/recorder/local-output.js';
import type { SharedLane } from '../common/recorder/shared-lane.js';
import { TraceWriter } from '../common/trace/trace-writer.js';
import type { Codecs } from '../common/trace/trace-writer.js';
import type { Header, Summary, SummaryInput } from '../common/trace/trace.js';

export interface WriterData {
    kperf: 'writer';
    hub: WebAssembly.Memory;
    path: string;
    header: Header;
    /** The channel on which threads announce their lanes. */
    lanes: string;
    /** See `threadOffset`. */
    origin: number;
    /** Shared with the thread that sends spans. */
    follower?: SharedArrayBuffer;
}

/** A lane of another thread. */
export interface AnnouncedLane extends SharedLane {
    number: number;
}

/** The thread's result, as JSON; without a summary if nothing was written. */
export interface Written {
    summary?: Omit<Summary, keyof SummaryInput>;
    /** See `Summary`. */
    other?: number;
    failure?: string;
}

/** Functions that the types of the oldest node lack. */
interface ZlibOfToday {
    zstdCompressSync: (bytes: Uint8Array, options: { params: Record<number, number> }) => Uint8Array;
    constants: { ZSTD_c_compressionLevel: number };
}

/** Milliseconds between reads of lanes while no blocks wait. A few blocks may be noticed that late. */
const LOOK = 100;

/** The number of notes that a trace has. */
const MAX_NOTES = 20;

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

/** Node has zstd from 22.15 on. */
function codecsOf({ header, origin }: WriterData): Codecs {
    const { zstdCompressSync, constants } = zlib as unknown as Partial<ZlibOfToday>;
    const codecs: Codecs = { crc32: zlib.crc32 };
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
    const { path, header, follower } = data;
    const codecs = codecsOf(data);
    const sink = new FileSink(path);
    // The first message creates the file, so a program without probed modules leaves none.
    let writer: TraceWriter | undefined;
    const begin = (): TraceWriter => {
        if (!writer) {
            writer = new TraceWriter(sink, header, codecs);
            if (follower && !writer.failure) new Follower(follower).begin(sink.other !== undefined);
        }
        return writer;
    };
    const lanes = new Inbox<AnnouncedLane>(data.lanes);
    hub.warm();
    hub.listen();
    const lookout = new Lookout();
    const receiveLanes = (): void => lanes.receive(({ number, ...shared }) => lookout.add(number, shared));
    /** Sets a field of the header, unless it is written already. */
    const describe = (field: 'probe_cost' | 'clock', json: Buffer): void => {
        if (!writer) Object.assign(header, { [field]: JSON.parse(json.toString()) as unknown });
    };
    const notes = new Set<string>();
    let ending: Ending | undefined;
    // Whole messages, by their kind.
    const handlers: Partial<Record<Message, (content: Buffer, recorder: number) => void>> = {
        [Message.ProbeCost]: (json) => describe('probe_cost', json),
        [Message.Clock]: (json) => describe('clock', json),
        [Message.Window]: (body, recorder) => begin().window(recorder, body),
        [Message.Span]: (block, recorder) => begin().block(recorder, block, 'SPAN'),
        [Message.Parent]: (payload, recorder) => begin().parent(recorder, payload),
        [Message.Note]: (sentence) => void (notes.size < MAX_NOTES && notes.add(sentence.toString())),
        [Message.Symbols]: (table) => begin().symbols(table),
        [Message.Finish](json) {
            ending = JSON.parse(json.toString()) as Ending;
            hub.refuse();
        },
    };
    // With the test clock a trace must always be the same.
    const patience = header.clock.source === 'test' ? Infinity : LOOK;
    let looked = performance.now();
    let parts: Uint8Array[] = [];
    // Other threads may go on after the end. What they sent before is written.
    while (!ending || hub.waiting > 0) {
        const received = hub.receive(Math.max(0, looked + patience - performance.now()));
        if (!received) {
            looked = performance.now();
            receiveLanes();
            for (const [lane, block] of lookout.look()) begin().block(lane, block);
            continue;
        }
        const { kind, recorder, first, more, bytes } = received;
        if (kind === Message.Block) begin().block(recorder, lookout.unwritten(recorder, bytes));
        else if (kind === Message.Ended) {
            receiveLanes();
            lookout.end(recorder);
        } else {
            if (first) parts = [];
            parts.push(bytes.slice());
        }
        hub.done();
        if (kind === Message.Block || kind === Message.Ended || more) continue;
        handlers[kind]?.(Buffer.concat(parts.splice(0)), recorder);
    }
    receiveLanes();
    const { summary: input, stalls, reason = Reason.Unfinished } = ending;
    for (const [lane, block] of lookout.rest(reason, input.end_ticks)) writer?.block(lane, block);
    lanes.close();
    if (!writer) return {};
    for (const [start, nanos] of stalls) writer.stall(start, nanos);
    const { events, blocks, dropped_events, probes } = writer.finish({ ...input, ...(notes.size > 0 && { notes: [...notes] }) });
    sink.close();
    const summary = { events, blocks, dropped_events, probes };
    return { summary, ...(writer.failure && { failure: writer.failure.message }), ...(sink.other !== undefined && { other: sink.other }) };
}
