/** The guest thread's side of a ticker: notes when guests run, and notices when the time stands still. */

import { CLOCK_OFF } from '../constants.js';
import { ClockCell } from './clock-cell.js';
import { GUEST_SINCE, GUEST_TOTAL, GUESTS, guestsRan, LAST_TICK, napLimit, NAPS, SINCE, SINCE_RAN, wakeTicker, type Ticker } from './ticker.js';

/** A time older than this, in nanoseconds, shows that the ticker was not run. */
const LIMIT = 100_000;

/** For one recorder. */
export class TickerWatch {
    readonly #now: () => number;
    readonly #clock: WebAssembly.Memory;
    readonly #limit: number;
    /** Replaces `#limit` while the ticker naps. */
    readonly #napLimit: number;
    readonly #control: Int32Array;
    readonly #numbers: Float64Array;
    readonly #cell: ClockCell;
    #runs = false;

    /** `cell` is the memory from which the recorder loads the time. `now` reads the clock, in ticks. */
    constructor(ticker: Ticker, cell: WebAssembly.Memory, now: () => number) {
        const { memory, periodNanos, resolutionNanos } = ticker;
        this.#now = now;
        this.#clock = memory;
        this.#limit = Math.max(LIMIT, 10 * periodNanos, 3 * resolutionNanos);
        this.#napLimit = napLimit(ticker);
        this.#control = new Int32Array(memory.buffer);
        this.#numbers = new Float64Array(memory.buffer);
        this.#cell = new ClockCell(cell);
    }

    /** The guest begins to run. */
    begin(): void {
        const now = this.#now();
        // A napping ticker rarely runs during a short turn, which would have no time.
        this.#check(now, this.#isNapping ? 0 : this.#limit);
        if (this.#runs) return;
        this.#runs = true;
        if (Atomics.load(this.#control, GUESTS / 4) === 0) this.#numbers[GUEST_SINCE / 8] = now;
        Atomics.add(this.#control, GUESTS / 4, 1);
        wakeTicker(this.#control);
    }

    /** The guest rests. */
    end(): void {
        if (!this.#runs) return;
        this.#runs = false;
        // If another thread's guest begins between the two, a moment counts twice or not at all.
        if (Atomics.sub(this.#control, GUESTS / 4, 1) === 1) this.#numbers[GUEST_TOTAL / 8]! += this.#now() - this.#numbers[GUEST_SINCE / 8]!;
    }

    /** If the time stands still, sets it to 0: events then ask the host until the ticker runs again. */
    check(): void {
        this.#check(this.#now(), this.#isNapping ? this.#napLimit : this.#limit);
    }

    get #isNapping(): boolean {
        return this.#control[NAPS / 4] !== 0;
    }

    #check(now: number, limit: number): void {
        if (now - this.#numbers[LAST_TICK / 8]! <= limit) return;
        const seen = this.#cell.clock;
        // It may have ticked just now.
        if (seen === 0n || seen === CLOCK_OFF || now - Number(seen) <= limit) return;
        this.#numbers[SINCE_RAN / 8] = guestsRan(this.#clock, now);
        this.#numbers[SINCE / 8] = now;
        this.#cell.replace(seen, 0n);
    }
}
