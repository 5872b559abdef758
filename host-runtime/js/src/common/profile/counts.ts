/**
 * How often the functions of an instance that makes a profile were called, while it was switched on. The module counts on while it
 * is off: the guest's thread notes the counts when it switches, so that whoever reads them, whenever it hears of that, leaves
 * out what doesn't count.
 */

import { SHADOW_COUNTS } from '../constants.js';
import type { ProfiledInstance } from './profiled-instance.js';

/** Memory that threads share: how often the instance was switched, when that was last, and a base of each count for each of the two states. */
const SWITCHED_AT = 8;
const BASES = 16;

/** Such a memory, for an instance that is on or off when it begins. */
export function switchBuffer(functions: number, begun: number, on: boolean): SharedArrayBuffer {
    const buffer = new SharedArrayBuffer(BASES + 16 * functions);
    // What was called before that doesn't count: all bases are 0.
    if (!on) note(buffer, 1, begun);
    return buffer;
}

/** Switches an instance off or on again. For the guest's thread. */
export function switchCounts(instance: ProfiledInstance, now: number): void {
    const { switched } = instance;
    const switches = new Int32Array(switched, 0, 1)[0]!;
    const [from, to] = [baseOf(instance, switches), baseOf(instance, switches + 1)];
    const words = countsOf(instance);
    for (let n = 0; n < from.length; n++) to[n] = countOf(words, n) - from[n]!;
    note(switched, switches + 1, now);
}

/** What others read. Each thread makes its own of the same memories. */
export class Counts {
    readonly #words: Uint32Array;
    readonly #switches: Int32Array;
    readonly #at: Float64Array;
    readonly #bases: Float64Array[];
    readonly #idBase: number;

    constructor(instance: ProfiledInstance) {
        this.#words = countsOf(instance);
        this.#switches = new Int32Array(instance.switched, 0, 1);
        this.#at = new Float64Array(instance.switched, SWITCHED_AT, 1);
        this.#bases = [0, 1].map((state) => baseOf(instance, state));
        this.#idBase = instance.idBase;
    }

    /** How often it was switched: if that is odd, it is off. */
    get switches(): number {
        return Atomics.load(this.#switches, 0);
    }

    /** When it was switched last, in ticks. */
    get switchedAt(): number {
        return this.#at[0]!;
    }

    /** Calls since `counted`, which is brought up to date. */
    since(counted: Float64Array): [func: number, calls: number][] {
        const now = new Float64Array(counted.length);
        let switches;
        do {
            switches = this.switches;
            const isOff = switches % 2;
            const base = this.#bases[isOff]!;
            for (let n = 0; n < now.length; n++) now[n] = isOff ? base[n]! : countOf(this.#words, n) - base[n]!;
        } while (switches !== this.switches);
        const calls: [number, number][] = [];
        for (let n = 0; n < now.length; n++) if (now[n]! > counted[n]!) calls.push([this.#idBase + n, now[n]! - counted[n]!]);
        counted.set(now);
        return calls;
    }
}

/** Written after the base that it selects: until then readers use the other base. */
function note(buffer: SharedArrayBuffer, switches: number, now: number): void {
    new Float64Array(buffer, SWITCHED_AT, 1)[0] = now;
    Atomics.store(new Int32Array(buffer), 0, switches);
}

/** For each function: while the instance is on, the calls that don't count; while it is off, the calls that do. */
function baseOf({ switched, functions }: ProfiledInstance, switches: number): Float64Array {
    return new Float64Array(switched, BASES + (switches % 2) * 8 * functions, functions);
}

function countsOf({ memory, functions }: ProfiledInstance): Uint32Array {
    return new Uint32Array(memory.buffer, SHADOW_COUNTS, 2 * functions);
}

/** What the module has counted of a function. */
function countOf(words: Uint32Array, n: number): number {
    let high = words[2 * n + 1]!;
    let low = words[2 * n]!;
    // Its halves are read one after the other.
    for (let again; (again = words[2 * n + 1]!) !== high; low = words[2 * n]!) high = again;
    return high * 2 ** 32 + low;
}
