/** Sends a thread's part of the recording to the writer's thread. */

import { summarize, type Clockwork } from '../common/recorder/local-output.js';
import type { Output } from '../common/recorder/output.js';
import type { ClockInfo, Header, Summary } from '../common/trace/trace.js';
import type { Followed } from './follower.js';
import { Hub, Message } from './hub.js';
import type { Written } from './writer-thread.js';

/** Milliseconds that the writer may take to empty the queue. */
const PATIENCE = 60_000;

/** Only the thread with the `clockwork` ends the recording. */
export class HubOutput implements Output {
    readonly #hub: Hub;
    readonly #clockwork: Clockwork | undefined;
    readonly #endSampler: (() => void) | undefined;
    readonly #follower: { finish(): Followed } | undefined;

    constructor(hub: Hub, clockwork?: Clockwork, endSampler?: () => void, follower?: { finish(): Followed }) {
        this.#hub = hub;
        this.#clockwork = clockwork;
        this.#endSampler = endSampler;
        this.#follower = follower;
    }

    lane(): number {
        return this.#hub.lane();
    }

    ids(count: number): number {
        return this.#hub.ids(count);
    }

    /** Announces a memory of blocks. */
    adopt(memory: WebAssembly.Memory): void {
        this.#hub.adopt(memory);
    }

    block(recorder: number, block: Uint8Array): void {
        this.#hub.send(Message.Block, recorder, block);
    }

    symbols(table: Uint8Array): void {
        this.#hub.send(Message.Symbols, 0, table);
    }

    parent(recorder: number, payload: Uint8Array): void {
        this.#hub.send(Message.Parent, recorder, payload);
    }

    probeCost(cost: Header['probe_cost']): void {
        this.#hub.send(Message.ProbeCost, 0, new TextEncoder().encode(JSON.stringify(cost)));
    }

    /** Sets the clock that is used. Must come before any event. */
    clock(clock: ClockInfo): void {
        this.#hub.send(Message.Clock, 0, new TextEncoder().encode(JSON.stringify(clock)));
    }

    window(recorder: number, body: Uint8Array): void {
        this.#hub.send(Message.Window, recorder, body);
    }

    span(recorder: number, block: Uint8Array): void {
        this.#hub.send(Message.Span, recorder, block);
    }

    ended(recorder: number): void {
        this.#hub.send(Message.Ended, recorder, new Uint8Array(0));
    }

    finish(outcome: string): Summary {
        const clockwork = this.#clockwork;
        if (!clockwork) throw new Error('kperf: only the thread that began the recording can end it');
        const end_ticks = clockwork.now();
        this.#endSampler?.();
        const ending = summarize(clockwork, outcome, end_ticks, this.#hub.lanes, this.#hub.stalls);
        const { summary: input } = ending;
        this.#hub.send(Message.Finish, 0, new TextEncoder().encode(JSON.stringify(ending)));
        const answer = this.#hub.wait(PATIENCE);
        if (answer === undefined) throw new Error('kperf: the writer\'s thread has ended; the trace is cut off');
        const { summary, failure, other } = JSON.parse(answer) as Written;
        if (failure !== undefined) {
            const loss = summary ? `${summary.dropped_events} events are not in the trace` : 'the trace is cut off';
            throw new Error(`kperf: ${loss}: ${failure}`);
        }
        if (!summary) return { ...input, events: 0, blocks: 0, dropped_events: 0, probes: 0 };
        return { ...input, ...summary, ...(other !== undefined && { other }), ...(this.#follower && { sent: this.#follower.finish() }) };
    }
}
