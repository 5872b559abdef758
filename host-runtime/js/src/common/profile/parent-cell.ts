/** Shared memory in which a guest's thread sets the parent span of a profiled instance's outermost calls, and the sampler reads it. */

import { LONGEST_PARENT } from '../trace/parent.js';

/** Two words precede the payload: its version, which is odd during a write, and its length. */
const HEAD = 8;

export function parentCell(): SharedArrayBuffer {
    return new SharedArrayBuffer(HEAD + LONGEST_PARENT);
}

/**
 * Sets the parent of later calls: the payload of a `PRNT`. Only while no call is open, so a sampler that reads the parent between two
 * looks at the same open call has that call's parent.
 */
export function writeParent(buffer: SharedArrayBuffer, payload: Uint8Array): void {
    const words = new Int32Array(buffer, 0, HEAD / 4);
    Atomics.add(words, 0, 1);
    words[1] = payload.length;
    new Uint8Array(buffer, HEAD).set(payload);
    Atomics.add(words, 0, 1);
}

export class ParentReader {
    readonly #words: Int32Array;
    #version = 0;

    constructor(buffer: SharedArrayBuffer) {
        this.#words = new Int32Array(buffer, 0, HEAD / 4);
    }

    /** The parent, if it was set since the last call. */
    read(): Uint8Array | undefined {
        const version = Atomics.load(this.#words, 0);
        if (version === this.#version || version % 2 === 1) return undefined;
        const payload = new Uint8Array(this.#words.buffer, HEAD, this.#words[1]).slice();
        if (Atomics.load(this.#words, 0) !== version) return undefined;
        this.#version = version;
        return payload;
    }
}
