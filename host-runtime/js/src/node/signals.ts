/** Signals that end a process unless the program handles them, as threads share them. */

import { isMainThread } from 'node:worker_threads';

/** Without a listener these end the process. */
export const SIGNALS: readonly string[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** Words of the shared memory: whether somebody reports the trace's end, whether a thread watches, and for each signal whether the program listens, and how many it got. */
const CLAIMED = 0, WATCHED = 1, LISTENS = 2, HANDLED = 2 + SIGNALS.length, WORDS = 2 + 2 * SIGNALS.length;

export class ProgramSignals {
    readonly buffer: SharedArrayBuffer;
    readonly #words: Int32Array;
    /** For each signal, how many of those that came were the program's. */
    readonly #came: number[];

    constructor(buffer = new SharedArrayBuffer(4 * WORDS)) {
        this.buffer = buffer;
        this.#words = new Int32Array(buffer);
        this.#came = SIGNALS.map((_, n) => Atomics.load(this.#words, HANDLED + n));
        if (isMainThread) SIGNALS.forEach((_, n) => this.#count(n));
    }

    /** Notes an event of `process` before its listeners are called. */
    emits(event: string | symbol, [of, number]: readonly unknown[]): void {
        const n = SIGNALS.indexOf(of as string);
        if (n < 0) return;
        if (event === 'newListener') Atomics.store(this.#words, LISTENS + n, 1);
        else if (event === 'removeListener') this.#count(n);
        // A program that emits this itself gives no number.
        else if (event === of && typeof number === 'number' && process.listenerCount(event) > 0) Atomics.add(this.#words, HANDLED + n, 1);
    }

    /** Whether a signal that came to another thread is the program's. Its listener may have gone when it was called (`once`). */
    isHandled(name: string): boolean {
        const n = SIGNALS.indexOf(name);
        const isHandled = Atomics.load(this.#words, LISTENS + n) === 1 || Atomics.load(this.#words, HANDLED + n) > this.#came[n]!;
        if (isHandled) this.#came[n]!++;
        return isHandled;
    }

    /** Notes that a thread watches signals. */
    isWatched(): void {
        Atomics.store(this.#words, WATCHED, 1);
        Atomics.notify(this.#words, WATCHED);
    }

    /** Waits until a thread watches. */
    waitForWatch(milliseconds: number): void {
        Atomics.wait(this.#words, WATCHED, 0, milliseconds);
    }

    /** True for the first thread that reports the trace's end. */
    claim(): boolean {
        return Atomics.exchange(this.#words, CLAIMED, 1) === 0;
    }

    #count(n: number): void {
        Atomics.store(this.#words, LISTENS + n, process.listenerCount(SIGNALS[n]!) > 0 ? 1 : 0);
    }
}
