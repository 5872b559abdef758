/** Sends a thread's part of the recording to the writer's thread. */

import { summarize, type Clockwork } from '../common/recorder/local-output.js';
import type { Reason } from '../common/constants.js';
import type { Output } from '../common/recorder/output.js';
import type { ClockInfo, Header, Summary } from '../common/trace/trace.js';
import type { Followed } from './follower.js';
import { Hub, Message } from './hub.js';
import { sentOfBroken } from './last-lines.js';
import type { Written } from './writer-thread.js';

const PATIENCE = 60_000;

/** Only the thread with the `clockwork` ends the recording. */
export class HubOutput implements Output {
    readonly #hub: Hub;
    readonly #clockwork: Clockwork | undefined;
    readonly #endSampler: (() => void) | undefined;
    readonly #follower: { finish(): Followed } | undefined;

    readonly #patience: number;

    /** `patience`: milliseconds that the writer may take to empty the queue. */
    constructor(hub: Hub, clockwork?: Clockwork, endSampler?: () => void, follower?: { finish(): Followed }, patience = PATIENCE) {
        this.#patience = patience;
        this.#hub = hub;
        this.#clockwork = clockwork;
        this.#endSampler = endSampler;
        this.#follower = follower;
    }

    readonly lane = (): number => this.#hub.lane();
    readonly ids = (count: number): number => this.#hub.ids(count);
    /** Announces a memory of blocks. */
    readonly adopt = (memory: WebAssembly.Memory): void => this.#hub.adopt(memory);
    readonly block = (recorder: number, block: Uint8Array): void => this.#hub.send(Message.Block, recorder, block);
    readonly symbols = (table: Uint8Array): void => this.#hub.send(Message.Symbols, 0, table);
    readonly parent = (recorder: number, payload: Uint8Array): void => this.#hub.send(Message.Parent, recorder, payload);
    readonly probeCost = (cost: Header['probe_cost']): void => this.#sendJson(Message.ProbeCost, cost);
    /** Sets the clock that is used. Must come before any event. */
    readonly clock = (clock: ClockInfo): void => this.#sendJson(Message.Clock, clock);
    readonly window = (recorder: number, body: Uint8Array): void => this.#hub.send(Message.Window, recorder, body);
    readonly span = (recorder: number, block: Uint8Array): void => this.#hub.send(Message.Span, recorder, block);
    readonly ended = (recorder: number): void => this.#hub.send(Message.Ended, recorder, new Uint8Array(0));

    /** `reason`: why calls that are still open end. */
    finish(outcome: string, reason?: Reason): Summary {
        const clockwork = this.#clockwork;
        if (!clockwork) throw new Error('kperf: only the thread that began the recording can end it');
        const end_ticks = clockwork.now();
        this.#endSampler?.();
        const ending = { ...summarize(clockwork, outcome, end_ticks, this.#hub.lanes, this.#hub.stalls), ...(reason !== undefined && { reason }) };
        const { summary: input } = ending;
        this.#sendJson(Message.Finish, ending);
        const answer = this.#hub.wait(this.#patience);
        const broken = (why: string): Error => new Error(`kperf: ${why}${sentOfBroken(this.#follower?.finish())}`);
        if (answer === undefined) throw broken(`the trace is cut off: ${this.#hub.isOver ? 'the writer\'s thread has ended' : `writing takes longer than ${this.#patience / 1000} s`}`);
        const { summary, failure, other } = JSON.parse(answer) as Written;
        if (failure !== undefined) {
            const loss = summary ? `${summary.dropped_events} events are not in the trace` : 'the trace is cut off';
            throw broken(`${loss}: ${failure}`);
        }
        if (!summary) return { ...input, events: 0, blocks: 0, dropped_events: 0, probes: 0 };
        return { ...input, ...summary, ...(other !== undefined && { other }), ...(this.#follower && { sent: this.#follower.finish() }) };
    }

    #sendJson(kind: Message, value: unknown): void {
        this.#hub.send(kind, 0, new TextEncoder().encode(JSON.stringify(value)));
    }
}
