/** The ticker: what its thread does, and how the others speak with it. wat/ticker.wat has the loop. */

import { reader } from './clock.js';
import { instantiate, moduleOf } from './instantiate.js';
import { noStalls, type StallTotal } from './trace.js';
import { CELL, END, TICKER } from './wasm.js';

/** Addresses in the clock's memory, as wat/ticker.wat has them. */
const ASKED = 64;
const RUNS = 68;
const STALLS = 72;
const STALL_NANOS = 80;
const STALL_LONGEST = 88;
const READING = 96;
const ASKED_CELLS = 104;
const STALL_LIST = 1024;
const LISTED = 1000;

/** What is asked of the thread. */
const GO_ON = 0;
const TAKE_CELLS = 1;
const STOP = 2;

/** What the loop wants to know. */
export interface TickerOptions {
    memory: WebAssembly.Memory;
    offset: number;
    periodNanos: number;
    resolutionNanos: number;
}

/** A memory for a ticker's clock. */
export function clockMemory(): WebAssembly.Memory {
    return new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });
}

/** A lane whose memory has the time at its front too; without a memory it has ended. */
export interface CellChange {
    id: string;
    memory?: WebAssembly.Memory;
}

/** The ticker's loop, and the cells that it writes. */
export class TickerLoop {
    readonly #options: TickerOptions;
    readonly #control: Int32Array;
    readonly #cells = new Map<string, WebAssembly.Memory>();
    #taken = 0;

    constructor(options: TickerOptions) {
        this.#options = options;
        this.#control = new Int32Array(options.memory.buffer);
        // Compiled now, and not while the time stands still.
        moduleOf(CELL);
    }

    /** Lanes have come or gone. */
    change({ id, memory }: CellChange): void {
        this.#taken++;
        if (memory) this.#cells.set(id, memory);
        else this.#cells.delete(id);
    }

    /** Whether changes are on their way. */
    get isBehind(): boolean {
        return this.#taken < Atomics.load(this.#control, ASKED_CELLS / 4);
    }

    /** Ticks until cells are asked to be taken. False if it is to stop. */
    run(): boolean {
        const { memory, offset, periodNanos, resolutionNanos } = this.#options;
        const control = this.#control;
        type Cell = { put: WebAssembly.ExportValue };
        let chain = instantiate<Cell>(END, {});
        for (const cell of this.#cells.values()) chain = instantiate<Cell>(CELL, { js: { memory: cell }, next: { put: chain.put } });
        const js = { memory, read: reader(memory, READING), offset };
        type Run = (period: bigint, limit: bigint, resolution: bigint) => void;
        const { run } = instantiate<{ run: Run }>(TICKER, { js, next: { put: chain.put } });
        // Shorter gaps are the scheduler's and the memory's ordinary noise; a coarse clock has gaps of its own.
        const limit = Math.max(10 * periodNanos, 50_000, 10 * resolutionNanos);
        run(BigInt(Math.round(periodNanos)), BigInt(Math.round(limit)), BigInt(Math.round(resolutionNanos)));
        return Atomics.compareExchange(control, ASKED / 4, TAKE_CELLS, GO_ON) !== STOP;
    }
}

/** Whether the ticker runs. */
export function tickerRuns(memory: WebAssembly.Memory): boolean {
    return Atomics.load(new Int32Array(memory.buffer), RUNS / 4) === 1;
}

/** Waits until it runs, in threads that may wait. */
export function waitForTicker(memory: WebAssembly.Memory, milliseconds: number): boolean {
    Atomics.wait(new Int32Array(memory.buffer), RUNS / 4, 0, milliseconds);
    return tickerRuns(memory);
}

/** Makes the thread look for a change, which is on its way to it. */
export function askForCells(memory: WebAssembly.Memory): void {
    const control = new Int32Array(memory.buffer);
    Atomics.add(control, ASKED_CELLS / 4, 1);
    Atomics.compareExchange(control, ASKED / 4, GO_ON, TAKE_CELLS);
}

/** Ends the loop; the time stands still from here on. */
export function stopTicker(memory: WebAssembly.Memory): void {
    Atomics.store(new Int32Array(memory.buffer), ASKED / 4, STOP);
}

/** Forgets when it stood still before there was anything to record. */
export function forgetStalls(memory: WebAssembly.Memory): void {
    new Uint8Array(memory.buffer, STALLS, READING - STALLS).fill(0);
}

/** When the ticker stood still: the first of the stalls, and all of them together. */
export function stallsOf(memory: WebAssembly.Memory | undefined): { first: [start: number, nanos: number][]; total: StallTotal } {
    if (!memory) return { first: [], total: noStalls() };
    const view = new DataView(memory.buffer);
    const u64 = (at: number): number => view.getUint32(at, true) + 2 ** 32 * view.getUint32(at + 4, true);
    const count = view.getUint32(STALLS, true);
    const first: [number, number][] = [];
    for (let n = 0; n < Math.min(count, LISTED); n++) first.push([u64(STALL_LIST + 16 * n), u64(STALL_LIST + 16 * n + 8)]);
    return { first, total: { count, nanos: u64(STALL_NANOS), longest_nanos: u64(STALL_LONGEST) } };
}
