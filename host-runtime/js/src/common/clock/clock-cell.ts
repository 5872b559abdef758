/** The time at the front of a memory, which recorders load, and the limit that makes an inlined recorder load it. */

import { CLOCK, LIMIT } from '../constants.js';

export class ClockCell {
    readonly #clock: BigInt64Array;
    readonly #limit: Int32Array;

    constructor({ buffer }: WebAssembly.Memory) {
        this.#clock = new BigInt64Array(buffer, CLOCK, 1);
        this.#limit = new Int32Array(buffer, LIMIT, 1);
    }

    /** The time in ticks. 0: recorders ask the host. `CLOCK_OFF`: they record nothing. */
    get clock(): bigint {
        return Atomics.load(this.#clock, 0);
    }

    set clock(value: bigint) {
        Atomics.store(this.#clock, 0, value);
        this.#show();
    }

    /** Sets the clock if it is still `seen`. */
    replace(seen: bigint, value: bigint): void {
        Atomics.compareExchange(this.#clock, 0, seen, value);
        this.#show();
    }

    #show(): void {
        Atomics.store(this.#limit, 0, 0);
    }
}
