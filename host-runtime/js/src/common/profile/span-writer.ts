/** Writes a profile's slow calls as blocks of events. */

import { BLOCK_HEADER, CAPACITY, LEAVE, TIME, UNWIND, WIDE_TIME, type Reason } from '../constants.js';

/** The words of the longest event: a wide time and the event. */
const MAX_WORDS = 4;

/** One lane's events, in order of time: a clock that goes back counts as standing still. */
export class SpanWriter {
    readonly #take: (block: Uint8Array) => void;
    readonly #words = new Uint32Array(CAPACITY / 4);
    #end = BLOCK_HEADER / 4;
    #depth = 0;
    #last: number;

    /** `take` gets blocks; the bytes are only borrowed. */
    constructor(now: number, take: (block: Uint8Array) => void) {
        this.#take = take;
        this.#last = now;
        this.#begin();
    }

    enter(ticks: number, func: number): void {
        this.#put(ticks, func);
        this.#depth++;
    }

    leave(ticks: number): void {
        this.#put(ticks, LEAVE);
        this.#depth--;
    }

    /** Closes calls deeper than `depth`. */
    close(ticks: number, reason: Reason, depth: number): void {
        if (depth >= this.#depth) return;
        this.#put(ticks, UNWIND + reason * 2 ** 26 + depth);
        this.#depth = depth;
    }

    /** Hands over the block. */
    flush(): void {
        if (this.#end === BLOCK_HEADER / 4) return;
        this.#take(new Uint8Array(this.#words.buffer, 0, 4 * this.#end));
        this.#begin();
    }

    #begin(): void {
        this.#words.set([0, this.#depth, this.#last % 2 ** 32, Math.floor(this.#last / 2 ** 32)]);
        this.#end = BLOCK_HEADER / 4;
    }

    #put(ticks: number, word: number): void {
        if (this.#end + MAX_WORDS > this.#words.length) this.flush();
        const passed = ticks - this.#last;
        if (passed > 0) {
            if (passed < 2 ** 30) this.#words[this.#end++] = TIME + passed;
            else {
                this.#words.set([WIDE_TIME, passed % 2 ** 32, Math.floor(passed / 2 ** 32)], this.#end);
                this.#end += 3;
            }
            this.#last = ticks;
        }
        this.#words[this.#end++] = word;
    }
}
