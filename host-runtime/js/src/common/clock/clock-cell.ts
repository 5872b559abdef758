/** The front of a memory: the time that recorders load, and what makes a recorder inside of a module look at it. */

import { CLOCK, LIMIT } from '../constants.js';

export class ClockCell {
    readonly #clock: BigInt64Array;
    readonly #limit: Int32Array;

    constructor({ buffer }: WebAssembly.Memory) {
        this.#clock = new BigInt64Array(buffer, CLOCK, 1);
        this.#limit = new Int32Array(buffer, LIMIT, 1);
    }

    /** The time in ticks; 0: the host is asked; `CLOCK_OFF`: nothing is recorded. */
    get clock(): bigint {
        return Atomics.load(this.#clock, 0);
    }

    set clock(value: bigint) {
        // Both halves at once.
        Atomics.store(this.#clock, 0, value);
        this.#show();
    }

    /** Sets the clock, unless it has changed since it was `seen`. */
    replace(seen: bigint, value: bigint): void {
        Atomics.compareExchange(this.#clock, 0, seen, value);
        this.#show();
    }

    #show(): void {
        Atomics.store(this.#limit, 0, 0);
    }
}
