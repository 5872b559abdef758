/** Ids of the modules that are rewritten when they are loaded: one list for all threads of a process. */

import { HOST_IDS, LOADED_IDS } from '../common/constants.js';

/** The end of modules' ids. */
const END = HOST_IDS;
/** The number of modules in the list. Further modules get other ids in each thread. */
const ENTRIES = 4096;
/** A module's entry is one of this many in a row; its hash says where the row begins. */
const TRIES = 64;
/** Words of an entry: its state, the first id, and words of the hash. */
const HASH_WORDS = 4;
const WORDS = 2 + HASH_WORDS;
const NEXT = 0;
const HEADER = 1;
const FREE = 0, BEING_WRITTEN = 1, WRITTEN = 2;
/** Milliseconds to wait for an entry that is being written. Its thread may have been terminated. */
const PATIENCE = 10;

export class ModuleIds {
    readonly buffer: SharedArrayBuffer;
    readonly #words: Int32Array;
    /** This thread's modules. */
    readonly #known = new Map<string, number>();

    /** Makes a new list, or uses another thread's. */
    constructor(buffer = new SharedArrayBuffer(4 * (HEADER + ENTRIES * WORDS))) {
        this.buffer = buffer;
        this.#words = new Int32Array(buffer);
        Atomics.compareExchange(this.#words, NEXT, 0, LOADED_IDS);
    }

    /** The first of `count` ids for a module, by its hash in hexadecimal digits. Throws if no ids are left. */
    of(key: string, count: number): number {
        let first = this.#known.get(key);
        if (first === undefined) this.#known.set(key, (first = this.#listed(key, count)));
        return first;
    }

    #listed(key: string, count: number): number {
        const words = this.#words;
        const wanted = Array.from({ length: HASH_WORDS }, (_, n) => Number.parseInt(key.slice(8 * n, 8 * n + 8), 16) | 0);
        for (let n = 0; n < TRIES; n++) {
            const at = HEADER + (((wanted[0]! >>> 0) + n) % ENTRIES) * WORDS;
            const state = Atomics.compareExchange(words, at, FREE, BEING_WRITTEN);
            if (state === FREE) {
                let first: number;
                try {
                    first = this.#take(count);
                } catch (error) {
                    Atomics.store(words, at, FREE);
                    throw error;
                }
                words.set([first, ...wanted], at + 1);
                Atomics.store(words, at, WRITTEN);
                Atomics.notify(words, at);
                return first;
            }
            if (state === BEING_WRITTEN) Atomics.wait(words, at, BEING_WRITTEN, PATIENCE);
            if (wanted.every((word, n) => words[at + 2 + n] === word)) return words[at + 1]!;
        }
        return this.#take(count);
    }

    #take(count: number): number {
        for (;;) {
            const first = Atomics.load(this.#words, NEXT);
            if (first + count > END) throw new Error('the modules of this process have used up the ids for functions');
            if (Atomics.compareExchange(this.#words, NEXT, first, first + count) === first) return first;
        }
    }
}
