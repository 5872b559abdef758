/** Shared memory of the thread that sends a growing trace as spans. */

import type { Delivery } from '../common/trace/trace.js';
import type { OtlpOptions } from '../common/otlp/settings.js';

export interface FollowerData {
    kperf: 'follower';
    path: string;
    options: OtlpOptions;
    buffer: SharedArrayBuffer;
}

/** Words of the shared memory. The result follows them. */
const BEGUN = 0, ENDED = 1, DONE = 2, LENGTH = 3;
const ANSWER = 16, SIZE = 4096;
/** Values of `BEGUN`: the trace is at the given path, or at `ownPathOf`. */
const GIVEN_PATH = 1;
export const OWN_PATH = 2;

export interface Followed {
    delivery?: Delivery;
    failure?: string;
    /** The number of spans over `OtlpOptions.spansPerSecond`. */
    left?: number;
}

export class Follower {
    readonly buffer: SharedArrayBuffer;
    readonly #words: Int32Array;
    readonly #answer: Uint8Array;

    constructor(buffer = new SharedArrayBuffer(SIZE)) {
        this.buffer = buffer;
        this.#words = new Int32Array(buffer, 0, ANSWER / 4);
        this.#answer = new Uint8Array(buffer, ANSWER);
    }

    /** Says where the trace's file is. */
    begin(isOwnPath: boolean): void {
        Atomics.store(this.#words, BEGUN, isOwnPath ? OWN_PATH : GIVEN_PATH);
    }

    /** Where the trace's file is; 0 until that is known. */
    get begun(): number {
        return Atomics.load(this.#words, BEGUN);
    }

    /** Whether the file is complete. */
    get ended(): boolean {
        return Atomics.load(this.#words, ENDED) === 1;
    }

    /** Sets the thread's result. */
    answer(answer: Followed): void {
        const bytes = new TextEncoder().encode(JSON.stringify(answer)).subarray(0, SIZE - ANSWER);
        this.#answer.set(bytes);
        this.#words[LENGTH] = bytes.length;
        this.gone();
    }

    /** Notes that the thread has ended, with or without a result. */
    gone(): void {
        Atomics.store(this.#words, DONE, 1);
        Atomics.notify(this.#words, DONE);
    }

    /** Says that the file is complete. Returns whether the thread has ended. */
    end(): boolean {
        Atomics.store(this.#words, ENDED, 1);
        return Atomics.load(this.#words, DONE) === 1;
    }

    /** Ends the thread, and waits for its result. */
    finish(milliseconds: number): Followed {
        this.end();
        const waited = Atomics.wait(this.#words, DONE, 0, milliseconds);
        const length = this.#words[LENGTH]!;
        if (length === 0) return { failure: waited === 'timed-out' ? 'sending takes too long' : 'the sending thread has ended' };
        return JSON.parse(new TextDecoder().decode(this.#answer.slice(0, length))) as Followed;
    }
}
