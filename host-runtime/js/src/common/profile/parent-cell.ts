/** Whose children the outermost calls of an instance are that makes a profile: the guest's thread tells the one that samples. */

import { LONGEST_PARENT } from '../trace/parent.js';

/** Words before the payload: how often it was told, odd while that is done, and how long it is. */
const HEAD = 8;

/** Memory in which they do. */
export function parentBuffer(): SharedArrayBuffer {
    return new SharedArrayBuffer(HEAD + LONGEST_PARENT);
}

/**
 * Calls from here on are children of this: the payload of a `PRNT`. Only while none is open: so whoever sees a call, asks then,
 * and sees it open later, knows whose child it is.
 */
export function tellParent(buffer: SharedArrayBuffer, payload: Uint8Array): void {
    const words = new Int32Array(buffer, 0, HEAD / 4);
    Atomics.add(words, 0, 1);
    words[1] = payload.length;
    new Uint8Array(buffer, HEAD).set(payload);
    Atomics.add(words, 0, 1);
}

/** Hears of that. */
export class ToldParent {
    readonly #words: Int32Array;
    #heard = 0;

    constructor(buffer: SharedArrayBuffer) {
        this.#words = new Int32Array(buffer, 0, HEAD / 4);
    }

    /** What was told since this was asked last. */
    hear(): Uint8Array | undefined {
        const told = Atomics.load(this.#words, 0);
        if (told === this.#heard || told % 2 === 1) return undefined;
        const payload = new Uint8Array(this.#words.buffer, HEAD, this.#words[1]).slice();
        if (Atomics.load(this.#words, 0) !== told) return undefined;
        this.#heard = told;
        return payload;
    }
}
