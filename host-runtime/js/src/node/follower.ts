/** The other threads' side of the thread that sends a growing trace as spans. */

import type { Delivery } from '../common/trace/trace.js';
import type { OtlpOptions } from '../common/otlp/settings.js';

/** What the thread begins with. */
export interface FollowerData {
    kperf: 'follower';
    path: string;
    options: OtlpOptions;
    buffer: SharedArrayBuffer;
}

/** Words of the shared memory. The answer follows them. */
const BEGUN = 0;
const ENDED = 1;
const DONE = 2;
const LENGTH = 3;
const ANSWER = 16;
const SIZE = 4096;
/** What `BEGUN` says. */
const HERE = 1;
export const BESIDE = 2;

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

    /** Says that the file belongs to this recording, or the one beside it. */
    begin(isBeside: boolean): void {
        Atomics.store(this.#words, BEGUN, isBeside ? BESIDE : HERE);
    }

    /** Which file belongs to it, when that is known. */
    get begun(): typeof HERE | typeof BESIDE | undefined {
        const begun = Atomics.load(this.#words, BEGUN);
        return begun === HERE || begun === BESIDE ? begun : undefined;
    }

    /** Says that the file is complete. */
    get ended(): boolean {
        return Atomics.load(this.#words, ENDED) === 1;
    }

    /** The thread has finished its work. */
    answer(answer: Followed): void {
        const bytes = new TextEncoder().encode(JSON.stringify(answer)).subarray(0, SIZE - ANSWER);
        this.#answer.set(bytes);
        this.#words[LENGTH] = bytes.length;
        this.gone();
    }

    /** The thread doesn't run any more; it may have answered or not. */
    gone(): void {
        Atomics.store(this.#words, DONE, 1);
        Atomics.notify(this.#words, DONE);
    }

    /** Ends the thread, and waits for it as long as is allowed. */
    finish(milliseconds: number): Followed {
        Atomics.store(this.#words, ENDED, 1);
        const waited = Atomics.wait(this.#words, DONE, 0, milliseconds);
        const length = this.#words[LENGTH]!;
        if (length === 0) return { failure: waited === 'timed-out' ? 'it takes too long' : 'the thread that sends is gone' };
        return JSON.parse(new TextDecoder().decode(this.#answer.slice(0, length))) as Followed;
    }
}
