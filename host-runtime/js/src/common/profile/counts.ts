/**
 * Call counts of a profiled instance while recording is on. The module never stops counting; the guest's thread takes a snapshot at each
 * switch, and readers subtract.
 */

import { SHADOW_COUNTS } from '../constants.js';

/** A profiled instance, as its thread shares it with the sampler's. */
export interface ProfiledInstance {
    /** The recorder's number. */
    number: number;
    memory: WebAssembly.Memory;
    idBase: number;
    functions: number;
    /** The time of its beginning, in ticks. */
    begun: number;
    /** Words of `CONTROL_*`. */
    control: SharedArrayBuffer;
    /** See `Counts`. */
    switched: SharedArrayBuffer;
    /** See `ParentReader`. */
    parent: SharedArrayBuffer;
}

/** Layout of the shared memory: the number of switches, the time of the last one, and for each of the two states a base of each count. */
const SWITCHED_AT = 8;
const BASES = 16;

/** Makes that memory for a new instance. */
export function switchBuffer(functions: number, begun: number, on: boolean): SharedArrayBuffer {
    const buffer = new SharedArrayBuffer(BASES + 16 * functions);
    // While it is off, bases are the counts so far: 0.
    if (!on) setSwitches(buffer, 1, begun);
    return buffer;
}

/** Switches an instance off or on; for the guest's thread. */
export function switchCounts(instance: ProfiledInstance, now: number): void {
    const { switched } = instance;
    const switches = new Int32Array(switched, 0, 1)[0]!;
    const [from, to] = [baseOf(instance, switches), baseOf(instance, switches + 1)];
    const words = countsOf(instance);
    for (let n = 0; n < from.length; n++) to[n] = countOf(words, n) - from[n]!;
    setSwitches(switched, switches + 1, now);
}

/** Reads the counts; for other threads, each with its own. */
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

    /** The number of switches; odd while it is off. */
    get switches(): number {
        return Atomics.load(this.#switches, 0);
    }

    /** When it was last switched, in ticks. */
    get switchedAt(): number {
        return this.#at[0]!;
    }

    /** Calls since `counted`, which it updates. */
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

/** Called after the base that it selects was written: until then readers use the other one. */
function setSwitches(buffer: SharedArrayBuffer, switches: number, now: number): void {
    new Float64Array(buffer, SWITCHED_AT, 1)[0] = now;
    Atomics.store(new Int32Array(buffer), 0, switches);
}

/** By function: while the instance is on, the calls to subtract; while it is off, the calls that count. */
function baseOf({ switched, functions }: ProfiledInstance, switches: number): Float64Array {
    return new Float64Array(switched, BASES + (switches % 2) * 8 * functions, functions);
}

function countsOf({ memory, functions }: ProfiledInstance): Uint32Array {
    return new Uint32Array(memory.buffer, SHADOW_COUNTS, 2 * functions);
}

/** The module's count of a function. */
function countOf(words: Uint32Array, n: number): number {
    let high = words[2 * n + 1]!;
    let low = words[2 * n]!;
    // The halves are read one after the other, so again until they fit.
    for (let again; (again = words[2 * n + 1]!) !== high; low = words[2 * n]!) high = again;
    return high * 2 ** 32 + low;
}
