/** The thread that sends a trace's file as spans while it is written: what the others know of it. */

import type { Delivery } from '../common/otlp-exporter.js';
import type { OtlpOptions } from '../common/otlp-settings.js';

/** What the thread begins with. */
export interface FollowerData {
    kperf: 'follower';
    path: string;
    options: OtlpOptions;
    buffer: SharedArrayBuffer;
}

/** Words of the shared memory; behind them the answer. */
const BEGUN = 0;
const ENDED = 1;
const DONE = 2;
const LENGTH = 3;
const ANSWER = 16;
const SIZE = 4096;

/** What the thread answers. */
export interface Followed {
    delivery?: Delivery;
    failure?: string;
}

/** One end of what the threads share. */
export class Follower {
    readonly buffer: SharedArrayBuffer;
    readonly #words: Int32Array;
    readonly #answer: Uint8Array;

    constructor(buffer = new SharedArrayBuffer(SIZE)) {
        this.buffer = buffer;
        this.#words = new Int32Array(buffer, 0, ANSWER / 4);
        this.#answer = new Uint8Array(buffer, ANSWER);
    }

    /** The file is this recording's. */
    begin(): void {
        Atomics.store(this.#words, BEGUN, 1);
    }

    get begun(): boolean {
        return Atomics.load(this.#words, BEGUN) === 1;
    }

    /** Nothing is added to the file any more. */
    get ended(): boolean {
        return Atomics.load(this.#words, ENDED) === 1;
    }

    /** The thread is through. */
    answer(answer: Followed): void {
        const bytes = new TextEncoder().encode(JSON.stringify(answer)).subarray(0, SIZE - ANSWER);
        this.#answer.set(bytes);
        this.#words[LENGTH] = bytes.length;
        this.gone();
    }

    /** It doesn't run any more, with an answer or without. */
    gone(): void {
        Atomics.store(this.#words, DONE, 1);
        Atomics.notify(this.#words, DONE);
    }

    /** Ends it, and waits as long as it may take. */
    finish(milliseconds: number): Followed {
        Atomics.store(this.#words, ENDED, 1);
        const waited = Atomics.wait(this.#words, DONE, 0, milliseconds);
        const length = this.#words[LENGTH]!;
        if (length === 0) return { failure: waited === 'timed-out' ? 'it takes too long' : 'the thread that sends is gone' };
        return JSON.parse(new TextDecoder().decode(this.#answer.slice(0, length))) as Followed;
    }
}
