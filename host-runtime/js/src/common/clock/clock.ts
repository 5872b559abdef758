/** Clocks of a thread. A tick is a nanosecond. */

import { instantiate } from '../instantiate.js';
import { CLOCK } from '../wasm-source.js';
import type { ClockInfo, Header } from '../trace/trace.js';

/**
 * How events get their time: `precise`: each reads `performance.now()`; `ticker`: each loads a time that a thread renews; `auto`: the ticker if
 * it works here; `instructions`: modules count what they execute; `test`: each reading is a microsecond later.
 */
export type ClockChoice = { kind: 'auto' | 'precise' | 'instructions' | 'test' } | { kind: 'ticker'; periodNanos: number };

/** Clocks that don't read the machine's. */
export type ArtificialClock = 'test' | 'instructions';

/** The ticker's default period. */
export const PERIOD_NANOS = 2000;

/** Reads `auto`, `precise`, `instructions`, `test`, `ticker`, `ticker:1.5us`. Throws a `TypeError` for anything else. */
export function parseClock(text: string): ClockChoice {
    if (text === 'auto' || text === 'precise' || text === 'instructions' || text === 'test') return { kind: text };
    if (text === 'ticker') return { kind: 'ticker', periodNanos: PERIOD_NANOS };
    const [, number, unit] = /^ticker:([0-9.]+)(ns|us|µs|ms)$/.exec(text) ?? [];
    const periodNanos = Math.round(Number(number) * { ns: 1, us: 1e3, µs: 1e3, ms: 1e6 }[unit as 'ns' | 'us' | 'µs' | 'ms']);
    if (periodNanos >= 100 && periodNanos <= 1e9) return { kind: 'ticker', periodNanos };
    throw new TypeError(`unknown clock \`${text}\`: use auto, precise, ticker, ticker:PERIOD (100ns to 1000ms) or instructions`);
}

export function artificialClock({ kind }: ClockChoice): ArtificialClock | undefined {
    return kind === 'test' || kind === 'instructions' ? kind : undefined;
}

/** The global is a getter that costs as much as a reading, so it is looked up once. */
const { performance } = globalThis;

/** Returns a function that writes a reading to a memory, in milliseconds. It returns nothing, since a BigInt would be an object. */
export function reader(memory: WebAssembly.Memory, address: number, now?: () => number): () => void {
    const place = new Float64Array(memory.buffer, address, 1);
    // Two functions: one that calls either clock would be slower.
    if (now) return () => void (place[0] = now());
    return () => void (place[0] = performance.now());
}

/** A clock of this thread. */
export interface Clock {
    readonly source: ClockInfo['source'];
    /** Reads milliseconds, without the offset. */
    readonly now: () => number;
    /** Milliseconds to add, so that all threads count from the same moment. */
    readonly offset: number;
    /** `now() -> i64` for recorders, in ticks. */
    readonly ticks: WebAssembly.ExportValue;
    /** Stops `ticks` at this moment, without readings of the clock, or lets it go on. */
    readonly halt: (on: boolean) => void;
}

/** The place of a thread's reading, in a shared memory: `CLOCK_BYTES` from a multiple of that on. */
export interface ClockPlace {
    memory: WebAssembly.Memory;
    at: number;
}

export const CLOCK_BYTES = 16;

export function threadClock(origin: number, kind?: ArtificialClock, place?: ClockPlace): Clock {
    let reading = 0;
    const made = { test: () => ++reading / 1000, instructions: () => 0 };
    const now = kind && made[kind];
    const offset = kind === 'instructions' ? 0 : origin;
    const { memory, at } = place ?? { memory: new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true }), at: 0 };
    const read = reader(memory, at, now);
    const { now: ticks } = instantiate<{ now: WebAssembly.ExportValue }>(CLOCK, { js: { memory, at, read, offset } });
    const halted = new Int32Array(memory.buffer, at + 8, 1);
    const halt = (on: boolean): void => {
        if (on) read();
        halted[0] = on ? 1 : 0;
    };
    return { source: kind ?? 'performance.now', now: now ?? (() => performance.now()), offset, ticks, halt };
}

/** A clock as a trace describes it. */
export function clockInfo({ source }: Clock, resolution_nanos: number): ClockInfo {
    return { kind: source === 'instructions' ? source : 'precise', source, ticks_per_second: 1e9, resolution_nanos };
}

/** The clock of recorders that load a ticker's time. */
export function tickingClock(clock: ClockInfo, periodNanos: number): ClockInfo {
    return { ...clock, kind: 'ticker', resolution_nanos: periodNanos, period_nanos: periodNanos };
}

/** Reads a clock in ticks, as a recorder does. */
export function ticksOf(clock: Clock): number {
    return Math.floor((clock.now() + clock.offset) * 1e6 + 0.5);
}

/** The clock's smallest step in nanoseconds, by successive readings. */
export function measureResolution(clock: Clock): number {
    if (clock.source === 'test') return 1000;
    if (clock.source === 'instructions') return 1;
    let smallest = Infinity;
    const begin = clock.now();
    let last = begin;
    // The thread may have been preempted in some of the first steps.
    for (let steps = 0; steps < 3 || (steps < 200 && last - begin < 3); ) {
        const now = clock.now();
        if (now === last) continue;
        smallest = Math.min(smallest, now - last);
        last = now;
        steps++;
    }
    return Math.max(1, Math.round(smallest * 1e6));
}

/** Reads the clock when the calendar's milliseconds step. */
export function anchorOf(clock: Clock): Header['anchor'] {
    if (clock.source === 'test') return { ticks: '0', unix_nanos: '0' };
    if (clock.source === 'instructions') return { ticks: '0', unix_nanos: `${Date.now()}000000` };
    const first = Date.now();
    let unix = first;
    const begin = clock.now();
    while (unix === first && clock.now() - begin < 5) unix = Date.now();
    return { ticks: String(ticksOf(clock)), unix_nanos: `${unix}000000` };
}
