/** Which ids modules have that are probed when they are loaded: one list for all threads of a process. */

import { HOST_IDS, LOADED_IDS } from '../common/constants.js';

/** Ids from here on are the host's. */
const LAST = HOST_IDS;
/** How many modules the list has room for. Others get ids too, but new ones in each thread. */
const ENTRIES = 4096;
/** A module's entry is one of so many, from the one that its key says on. */
const TRIES = 64;
/** Words of an entry: its state, the first id, and of the hash as many as follow. */
const HASH_WORDS = 4;
const WORDS = 2 + HASH_WORDS;
const NEXT = 0;
/** A bit for each function of an allocator that was named and that a module had. */
const FOUND = 1;
const HEADER = 2;
const FREE = 0;
const BEING_WRITTEN = 1;
const WRITTEN = 2;
/** Writing takes less than a microsecond; a thread that ends in the middle of it leaves a gap. */
const PATIENCE = 10;

export class ModuleIds {
    readonly buffer: SharedArrayBuffer;
    readonly #words: Int32Array;
    /** What this thread has asked for. */
    readonly #known = new Map<string, number>();

    /** A new list, or that of another thread. */
    constructor(buffer = new SharedArrayBuffer(4 * (HEADER + ENTRIES * WORDS))) {
        this.buffer = buffer;
        this.#words = new Int32Array(buffer);
        Atomics.compareExchange(this.#words, NEXT, 0, LOADED_IDS);
    }

    /** The first of so many ids for the module with this key, a hash in hexadecimal digits. Throws where no ids are left. */
    of(key: string, count: number): number {
        let first = this.#known.get(key);
        if (first === undefined) this.#known.set(key, (first = this.#listed(key, count)));
        return first;
    }

    /** Notes things that some thread has found. */
    note(found: number): void {
        Atomics.or(this.#words, FOUND, found);
    }

    /** What all threads have noted. */
    get found(): number {
        return Atomics.load(this.#words, FOUND);
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
            if (first + count > LAST) throw new Error('the modules of this process have used up the ids for functions');
            if (Atomics.compareExchange(this.#words, NEXT, first, first + count) === first) return first;
        }
    }
}
