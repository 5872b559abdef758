/** Writes a recording in the thread that records. */

import { CAPACITY, HOST_IDS, type Reason } from '../constants.js';
import type { Output } from './output.js';
import { stopTicker, statisticsOf, type Ticker } from '../clock/ticker.js';
import { noStalls, type ClockInfo, type Header, type ProcessUsage, type Sink, type StallTotal, type Summary, type SummaryInput } from '../trace/trace.js';
import { TraceWriter } from '../trace/trace-writer.js';

/** The end of a recording. */
export interface Ending {
    summary: SummaryInput;
    /** Why calls that are still open end. */
    reason?: Reason;
    stalls: [start: number, nanos: number][];
}

/** The clocks of a recording. */
export interface Clockwork {
    /** Reads the clock, in ticks. */
    now: () => number;
    /** The ticker, if there is one when the recording ends. */
    ticker: () => Ticker | undefined;
    /** The clock that is used, if it is known only when the trace begins. */
    settled?: () => ClockInfo;
    /** Reads the trace's clock and the calendar at one moment; not set with the test clock. */
    anchor?: (() => Header['anchor']) | undefined;
    /** The process's processor time since the recording began, if the host knows it. */
    usage?: (() => ProcessUsage) | undefined;
}

/** Stops the ticker, and returns the summary and the ticker's stalls. */
export function summarize(clockwork: Clockwork, outcome: string, end_ticks: number, recorders: number, writer_stalls: StallTotal): Ending {
    const ticker = clockwork.ticker();
    const { first, total, ticks } = statisticsOf(ticker, end_ticks);
    if (ticker) stopTicker(ticker.memory);
    const usage = clockwork.usage?.();
    return { summary: { outcome, end_ticks, recorders, ticker_stalls: total, ...(ticks && { ticks }), ...usage, writer_stalls }, stalls: first };
}

/** Buffers to reuse: fresh memory costs four times as much as the copy. */
const free: Uint8Array<ArrayBuffer>[] = [];
/** At most 16 MB are kept. */
const MAX_FREE = 128;

/** Gives chunks to a sink: immediately, or with `later` when the guest rests. */
export class LocalOutput implements Output {
    readonly #sink: Sink;
    readonly #header: Header;
    #writing: TraceWriter | undefined;
    readonly #clockwork: Clockwork;
    readonly #later: ((run: () => void) => void) | undefined;
    /** Writes that wait for `later`. */
    readonly #waiting: (() => void)[] = [];
    /** The numbers of lanes and of ids for host functions so far. Other threads may write into the same trace. */
    readonly #numbers: Int32Array<ArrayBufferLike>;

    constructor(sink: Sink, header: Header, clockwork: Clockwork, later?: (run: () => void) => void, numbers: Int32Array<ArrayBufferLike> = new Int32Array(2)) {
        this.#numbers = numbers;
        this.#later = later;
        this.#sink = sink;
        this.#header = header;
        this.#clockwork = clockwork;
    }

    /** Begins the trace at the first write. */
    get #writer(): TraceWriter {
        if (this.#writing) return this.#writing;
        if (this.#clockwork.settled) this.#header.clock = this.#clockwork.settled();
        return (this.#writing = new TraceWriter(this.#sink, this.#header, { anchor: this.#clockwork.anchor }));
    }

    probeCost(cost: Header['probe_cost']): void {
        if (cost && !this.#writing) this.#header.probe_cost = cost;
    }

    lane(): number {
        return Atomics.add(this.#numbers, 0, 1);
    }

    ids(count: number): number {
        return HOST_IDS + Atomics.add(this.#numbers, 1, count);
    }

    block(recorder: number, block: Uint8Array): void {
        if (!this.#later) return this.#writer.block(recorder, block);
        if (block.length < CAPACITY / 2) {
            const copy = block.slice();
            return this.#wait(() => this.#writer.block(recorder, copy));
        }
        const buffer = free.pop() ?? new Uint8Array(CAPACITY);
        buffer.set(block);
        const { length } = block;
        this.#wait(() => {
            this.#writer.block(recorder, buffer.subarray(0, length));
            if (free.length < MAX_FREE) free.push(buffer);
        });
    }

    /** Takes a chunk of another thread. */
    readonly chunk = (chunk: Uint8Array): void => this.#wait(() => this.#writer.chunk(chunk));
    readonly symbols = (table: Uint8Array): void => this.#wait(() => this.#writer.symbols(table));
    readonly parent = (recorder: number, payload: Uint8Array): void => this.#wait(() => this.#writer.parent(recorder, payload));
    readonly window = (recorder: number, body: Uint8Array): void => this.#wait(() => this.#writer.window(recorder, body));
    readonly ended = (): void => undefined;

    span(recorder: number, block: Uint8Array): void {
        const copy = block.slice();
        this.#wait(() => this.#writer.block(recorder, copy, 'SPAN'));
    }

    /** Does the writes that wait. */
    write(): void {
        for (const act of this.#waiting.splice(0)) act();
    }

    finish(outcome: string): Summary | Promise<Summary> {
        const { summary: input, stalls } = summarize(this.#clockwork, outcome, this.#clockwork.now(), this.#numbers[0]!, noStalls());
        this.write();
        for (const [start, nanos] of stalls) this.#writer.stall(start, nanos);
        const summary = this.#writer.finish(input);
        const answer = (): Summary => {
            const { failure } = this.#writer;
            if (failure) throw new Error(`kperf: ${summary.dropped_events} events are not in the trace: ${failure.message}`);
            return summary;
        };
        const closed = this.#sink.close();
        return closed ? closed.then(answer) : answer();
    }

    #wait(act: () => void): void {
        if (!this.#later) act();
        else if (this.#waiting.push(act) === 1) this.#later(() => this.write());
    }
}
