/** The ticker's thread, whose loop is in wat/ticker.wat, and how other threads use it. */

import { reader } from './clock.js';
import { instantiate, moduleOf } from '../instantiate.js';
import { noStalls, type StallTotal, type TickTotal } from '../trace/trace.js';
import { CELL, END, TICKER } from '../wasm-source.js';

/** Addresses in the clock's memory; see wat/ticker.wat. */
const ASKED = 64, RUNS = 68, STALLS = 72, STALL_NANOS = 80, STALL_LONGEST = 88, READING = 96, ASKED_CELLS = 104, FROM = 120,
    FROM_RAN = 160, TICKS = 200, TICK_NANOS = 208, TICK_SQUARES = 216, COUNTS_FROM = 224, GUEST_AT_TICK = 232, SLEEPS = 244,
    NAPS_UNTIL = 256, STALL_LIST = 1024, LISTED = 1000;
export const SINCE = 112, GUESTS = 128, GUEST_SINCE = 136, GUEST_TOTAL = 144, SINCE_RAN = 152, LAST_TICK = 192, NAPS = 240;

/** Requests to the ticker's thread. */
const GO_ON = 0, TAKE_CELLS = 1, STOP = 2;

/** The time between ticks, and the smallest step of the clock. */
export interface TickerPace {
    periodNanos: number;
    resolutionNanos: number;
}

export interface TickerOptions extends TickerPace {
    memory: WebAssembly.Memory;
    offset: number;
}

/** A longer gap between two ticks, in nanoseconds, is a stall. Shorter ones are noise of the scheduler, of memory or of a coarse clock. */
function stallLimit({ periodNanos, resolutionNanos }: TickerPace): number {
    return Math.max(10 * periodNanos, 50_000, 10 * resolutionNanos);
}

/** A longer gap, in nanoseconds, shows that the scheduler preempted the thread. */
const SCARCE = 200_000;
/**
 * Nanoseconds between ticks after a preemption, when the thread naps instead of spinning; the system adds 50 to 70 us. Shorter naps were
 * scheduled less readily: with four other threads on two processors the mean gap was 3.5 ms with 100 us, 1.7 with 200, 14.5 when spinning.
 */
const NAP = 200_000;
/** With this period or a longer one, in nanoseconds, it never spins. */
const SLEPT = 500_000;
/** The shortest period on one processor, where waking a thread takes up to 40 us (on a virtual machine). */
const ALONE_PERIOD = 1_000_000;

/** The period on this many processors. The ticker can't spin while a guest has the only one. */
export function periodOn(processors: number, periodNanos: number): number {
    return processors > 1 ? periodNanos : Math.max(ALONE_PERIOD, periodNanos);
}

/** A longer gap between two naps' ticks, in nanoseconds, is a stall. */
export function napLimit({ periodNanos }: TickerPace): number {
    return Math.max(1_500_000, periodNanos < SLEPT ? 0 : 3 * periodNanos);
}

/** The end of the addresses above, and of the memory: threads may put their clocks between. */
export const CLOCKS_FROM = 1 << 15, CLOCKS_TO = 1 << 16;

export function clockMemory(): WebAssembly.Memory {
    return new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });
}

/** A lane's memory to which the ticker writes the time, too; without a memory the lane has ended. */
export interface CellChange {
    id: string;
    memory?: WebAssembly.Memory;
}

/**
 * A loop that makes no objects never collects them, and a browser has room for some 100 memories of all its threads. Engines collect when much
 * memory outside of their heap has come, which they don't touch.
 */
export function memoryIsFree(): void {
    if (++free % 16 === 0) for (let n = 0; n < 4; n++) new ArrayBuffer(1e8);
}

/** The number of memories that this thread no longer needs. */
let free = 0;

export class TickerLoop {
    readonly #options: TickerOptions;
    readonly #control: Int32Array;
    readonly #cells = new Map<string, WebAssembly.Memory>();
    #taken = 0;

    constructor(options: TickerOptions) {
        this.#options = options;
        this.#control = new Int32Array(options.memory.buffer);
        // So that it isn't compiled while the time stands still.
        moduleOf(CELL);
    }

    /** Adds or removes a lane. */
    change({ id, memory }: CellChange): void {
        this.#taken++;
        if (memory) this.#cells.set(id, memory);
        else if (this.#cells.delete(id)) memoryIsFree();
    }

    /** Whether more changes are on their way. */
    get isBehind(): boolean {
        return this.#taken < Atomics.load(this.#control, ASKED_CELLS / 4);
    }

    /** Ticks until cells change. Returns false if the loop is to stop. */
    run(): boolean {
        const { memory, offset, periodNanos, resolutionNanos } = this.#options;
        const limit = Math.round(stallLimit(this.#options));
        const control = this.#control;
        type Cell = { put: WebAssembly.ExportValue };
        let chain = instantiate<Cell>(END, {});
        for (const cell of this.#cells.values()) chain = instantiate<Cell>(CELL, { js: { memory: cell }, next: { put: chain.put } });
        const sleeps = periodNanos >= SLEPT;
        const nanos = (length: number): WebAssembly.Global => new WebAssembly.Global({ value: 'i64' }, BigInt(Math.round(length)));
        const [nap, longest] = [nanos(sleeps ? periodNanos : NAP), nanos(napLimit(this.#options))];
        const js = { memory, read: reader(memory, READING), offset, nap, napLimit: longest };
        if (sleeps) new BigInt64Array(memory.buffer)[NAPS_UNTIL / 8] = 2n ** 63n - 1n;
        type Run = (period: bigint, limit: bigint, scarce: bigint, resolution: bigint) => void;
        const { run } = instantiate<{ run: Run }>(TICKER, { js, next: { put: chain.put } });
        run(BigInt(Math.round(periodNanos)), BigInt(limit), BigInt(Math.max(SCARCE, limit)), BigInt(Math.round(resolutionNanos)));
        return Atomics.compareExchange(control, ASKED / 4, TAKE_CELLS, GO_ON) !== STOP;
    }
}

/** Whether the ticker has ticked. */
export function hasTicked(memory: WebAssembly.Memory): boolean {
    return new Float64Array(memory.buffer)[LAST_TICK / 8]! > 0;
}

/** Waits for the first tick, in threads that may wait. Returns whether it came. */
export function waitForTicker(memory: WebAssembly.Memory, milliseconds: number): boolean {
    Atomics.wait(new Int32Array(memory.buffer), RUNS / 4, 0, milliseconds);
    return hasTicked(memory);
}

/** Wakes a ticker that sleeps because no guest ran. Write the request first. */
export function wakeTicker(control: Int32Array): void {
    if (Atomics.load(control, SLEEPS / 4) === 0) return;
    Atomics.store(control, SLEEPS / 4, 0);
    Atomics.notify(control, SLEEPS / 4);
}

/** Makes the ticker take a change, which is on its way to it. */
export function askForCells(memory: WebAssembly.Memory): void {
    const control = new Int32Array(memory.buffer);
    Atomics.add(control, ASKED_CELLS / 4, 1);
    Atomics.compareExchange(control, ASKED / 4, GO_ON, TAKE_CELLS);
    // It may nap or sleep.
    Atomics.notify(control, ASKED / 4);
    wakeTicker(control);
}

/** Ends the loop, or keeps it from beginning. Recorders ask the host for the time after that. */
export function stopTicker(memory: WebAssembly.Memory): void {
    const control = new Int32Array(memory.buffer);
    Atomics.store(control, ASKED / 4, STOP);
    Atomics.notify(control, ASKED / 4);
    wakeTicker(control);
}

/** Resets the counts of ticks and stalls; nothing was recorded before `now`, in ticks. */
export function forgetTicks(memory: WebAssembly.Memory, now: number): void {
    const numbers = new Float64Array(memory.buffer);
    numbers[FROM_RAN / 8] = guestsRan(memory, now);
    numbers[FROM / 8] = now;
}

/** Nanoseconds for which guests ran until `now`. */
export function guestsRan(memory: WebAssembly.Memory, now: number): number {
    const numbers = new Float64Array(memory.buffer);
    const isRunning = Atomics.load(new Int32Array(memory.buffer), GUESTS / 4) > 0;
    return numbers[GUEST_TOTAL / 8]! + (isRunning ? Math.max(0, now - numbers[GUEST_SINCE / 8]!) : 0);
}

export interface Ticker extends TickerPace {
    memory: WebAssembly.Memory;
}

/** Ticks, and stalls while guests ran. */
export interface TickerStatistics {
    /** The first stalls, and the sum of all. */
    first: [start: number, nanos: number][];
    total: StallTotal;
    ticks?: TickTotal;
}

/** A ticker's statistics until `now`, in ticks. */
export function statisticsOf(ticker: Ticker | undefined, now: number): TickerStatistics {
    if (!ticker) return { first: [], total: noStalls() };
    const view = new DataView(ticker.memory.buffer);
    const f64 = (at: number): number => view.getFloat64(at, true);
    const u64 = (at: number): number => view.getUint32(at, true) + 2 ** 32 * view.getUint32(at + 4, true);
    const first: [number, number][] = [];
    const total = noStalls();
    const ticks = { count: 0, nanos: 0, squares: 0 };
    // Before the first tick after a reset there are no counts.
    let before = f64(FROM_RAN);
    if (f64(COUNTS_FROM) === f64(FROM)) {
        before = f64(GUEST_AT_TICK);
        Object.assign(total, { count: view.getUint32(STALLS, true), nanos: u64(STALL_NANOS), longest_nanos: u64(STALL_LONGEST) });
        Object.assign(ticks, { count: f64(TICKS), nanos: f64(TICK_NANOS), squares: f64(TICK_SQUARES) });
        for (let n = 0; n < Math.min(total.count, LISTED); n++) first.push([u64(STALL_LIST + 16 * n), u64(STALL_LIST + 16 * n + 8)]);
    }
    // The gap that hasn't ended yet. wat/ticker.wat does the same.
    const gap = guestsRan(ticker.memory, now) - before;
    if (!hasTicked(ticker.memory) || gap <= 0) return { first, total, ticks };
    const isDoubted = f64(SINCE) > f64(LAST_TICK);
    const coarse = isDoubted ? Math.min(gap, Math.max(0, f64(SINCE_RAN) - before)) : gap;
    ticks.count++;
    ticks.nanos += gap;
    ticks.squares += coarse * coarse;
    if (coarse > (view.getUint32(NAPS, true) ? napLimit(ticker) : stallLimit(ticker))) {
        const nanos = Math.floor(coarse);
        if (first.length < LISTED) first.push([Math.floor((isDoubted ? f64(SINCE) : now) - coarse), nanos]);
        total.count++;
        total.nanos += nanos;
        total.longest_nanos = Math.max(total.longest_nanos, nanos);
    }
    return { first, total, ticks };
}
