/** Ids of the modules that are rewritten when they are loaded: one list for all threads of a process, or of a page. */

import { HOST_IDS, LOADED_IDS } from '../constants.js';

/** The end of modules' ids. */
const END = HOST_IDS;
/** The number of modules in the list. Further modules get other ids in each thread. */
const ENTRIES = 4096;
/** A module's entry is one of this many in a row; its hash says where the row begins. */
const TRIES = 64;
/** Words of an entry: its state, the first id, and four of the hash. */
const WORDS = 6;
const NEXT = 0;
const HEADER = 1;
const FREE = 0, BEING_WRITTEN = 1, WRITTEN = 2;
/** Milliseconds to wait for an entry that is being written. Its thread may have been terminated. */
const PATIENCE = 10;

export class ModuleIds {
    readonly buffer: ArrayBufferLike;
    readonly #words: Int32Array;
    /** This thread's modules. */
    readonly #known = new Map<string, number>();

    /** Makes a new list with ids from `first` on, or uses another thread's. (Some pages can't share memory.) */
    constructor(buffer: ArrayBufferLike = new (globalThis.SharedArrayBuffer ?? ArrayBuffer)(4 * (HEADER + ENTRIES * WORDS)), first = LOADED_IDS) {
        this.buffer = buffer;
        this.#words = new Int32Array(buffer);
        Atomics.compareExchange(this.#words, NEXT, 0, first);
    }

    /** The first of `count` ids for a module, by its hash in hexadecimal digits. Throws if no ids are left. */
    of(key: string, count: number): number {
        let first = this.#known.get(key);
        if (first === undefined) this.#known.set(key, (first = this.#listed(key, count)));
        return first;
    }

    #listed(key: string, count: number): number {
        const words = this.#words;
        const hash = [0, 1, 2, 3].map((n) => parseInt(key.slice(8 * n, 8 * n + 8), 16) | 0);
        for (let n = 0; n < TRIES; n++) {
            const at = HEADER + (((hash[0]! >>> 0) + n) % ENTRIES) * WORDS;
            const state = Atomics.compareExchange(words, at, FREE, BEING_WRITTEN);
            if (state === FREE) {
                try {
                    words.set([this.#take(count), ...hash], at + 1);
                    Atomics.store(words, at, WRITTEN);
                    return words[at + 1]!;
                } catch (error) {
                    Atomics.store(words, at, FREE);
                    throw error;
                }
            }
            // A page's own thread can't wait otherwise.
            for (const end = performance.now() + PATIENCE; Atomics.load(words, at) === BEING_WRITTEN && performance.now() < end; );
            if (hash.every((word, n) => words[at + 2 + n] === word)) return words[at + 1]!;
        }
        return this.#take(count);
    }

    #take(count: number): number {
        for (;;) {
            const first = Atomics.load(this.#words, NEXT);
            if (first + count > END) throw new Error('the modules have used up the ids for functions');
            if (Atomics.compareExchange(this.#words, NEXT, first, first + count) === first) return first;
        }
    }
}
