/** A recording that is written by the thread that records. */

import { CAPACITY, HOST_IDS } from '../constants.js';
import type { Output } from './output.js';
import { stopTicker, tickedOf, type Ticker } from '../clock/ticker.js';
import { noStalls, type ClockInfo, type Had, type Header, type Sink, type Summary } from '../trace/trace.js';
import { TraceWriter } from '../trace/trace-writer.js';

/** What a recording ends with. */
export interface Clockwork {
    /** A reading of the clock, in ticks. */
    now: () => number;
    /** The ticker, if there is one; asked when the recording ends. */
    ticker: () => Ticker | undefined;
    /** Which clock it has become, if that is not known before the trace begins. */
    settled?: () => ClockInfo;
    /** Reads one moment on the trace's clock and on the calendar's; nothing under the clock for tests. */
    anchor?: (() => Header['anchor']) | undefined;
    /** What the process had of the processors since the recording began; if the host knows. */
    had?: (() => Had) | undefined;
}

/** Blocks whose words are written, for the next ones of this thread: fresh memory costs four times what the copy does. */
const free: Uint8Array<ArrayBuffer>[] = [];
/** So many are kept: 16 MB, which the longest turn so far has taken. */
const MOST_FREE = 128;

/** Makes chunks and gives them to a sink: at once, or with `later` when the guest rests. */
export class LocalOutput implements Output {
    readonly #sink: Sink;
    readonly #header: Header;
    #writing: TraceWriter | undefined;
    readonly #clockwork: Clockwork;
    readonly #later: ((run: () => void) => void) | undefined;
    /** What waits to be written. */
    readonly #waiting: (() => void)[] = [];
    #lanes = 0;
    #ids = HOST_IDS;

    constructor(sink: Sink, header: Header, clockwork: Clockwork, later?: (run: () => void) => void) {
        this.#later = later;
        this.#sink = sink;
        this.#header = header;
        this.#clockwork = clockwork;
    }

    /** The trace begins when there is something to say, or nothing more. */
    get #writer(): TraceWriter {
        if (this.#writing) return this.#writing;
        if (this.#clockwork.settled) this.#header.clock = this.#clockwork.settled();
        return (this.#writing = new TraceWriter(this.#sink, this.#header, { anchor: this.#clockwork.anchor }));
    }

    probeCost(cost: Header['probe_cost']): void {
        if (cost && !this.#writing) this.#header.probe_cost = cost;
    }

    lane(): number {
        return this.#lanes++;
    }

    ids(count: number): number {
        this.#ids += count;
        return this.#ids - count;
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
            if (free.length < MOST_FREE) free.push(buffer);
        });
    }

    symbols(table: Uint8Array): void {
        this.#wait(() => this.#writer.symbols(table));
    }

    parent(recorder: number, payload: Uint8Array): void {
        this.#wait(() => this.#writer.parent(recorder, payload));
    }

    ended(): void {}

    window(recorder: number, body: Uint8Array): void {
        this.#wait(() => this.#writer.window(recorder, body));
    }

    span(recorder: number, block: Uint8Array): void {
        const copy = block.slice();
        this.#wait(() => this.#writer.block(recorder, copy, 'SPAN'));
    }

    /** Writes what waits. */
    write(): void {
        for (const act of this.#waiting.splice(0)) act();
    }

    finish(outcome: string): Summary | Promise<Summary> {
        const end_ticks = this.#clockwork.now();
        const ticker = this.#clockwork.ticker();
        const { first, total, ticks } = tickedOf(ticker, end_ticks);
        if (ticker) stopTicker(ticker.memory);
        this.write();
        for (const [start, nanos] of first) this.#writer.stall(start, nanos);
        const summary = this.#writer.finish({
            outcome,
            end_ticks,
            recorders: this.#lanes,
            ticker_stalls: total,
            ...(ticks && { ticks }),
            ...this.#clockwork.had?.(),
            writer_stalls: noStalls(),
        });
        const answer = (): Summary => {
            const { failure } = this.#writer;
            if (failure) throw new Error(`kperf: ${summary.dropped_events} events are not in the trace: ${failure.message}`);
            return summary;
        };
        const closed = this.#sink.close();
        return closed ? closed.then(answer) : answer();
    }

    /** Does something when the guest rests. */
    #wait(act: () => void): void {
        if (!this.#later) act();
        else if (this.#waiting.push(act) === 1) this.#later(() => this.write());
    }
}
