/** How often the functions of an instance that makes a profile were called, while it was switched on. */

import { SHADOW_COUNTS } from './constants.js';
import type { ProfiledInstance } from './sampler.js';

/** What threads share beside the counts: how often the instance was switched, when that was last, and a base for each of the two states. */
const SWITCHED_AT = 8;
const BASES = 16;

/** Memory in which threads tell each other of switches. */
export function switchBuffer(functions: number): SharedArrayBuffer {
    return new SharedArrayBuffer(BASES + 16 * functions);
}

/**
 * The module counts on while it is switched off. The guest's thread notes the counts when it switches, so that whoever reads
 * them, whenever it hears of that, leaves out what doesn't count. Each thread makes its own of the same memories.
 */
export class Counts {
    readonly #words: Uint32Array;
    readonly #switches: Int32Array;
    readonly #at: Float64Array;
    /** While it is on, what of a count doesn't count; while it is off, what does. */
    readonly #bases: readonly [on: Float64Array, off: Float64Array];
    readonly #idBase: number;

    constructor({ memory, idBase, functions, switched }: ProfiledInstance) {
        this.#words = new Uint32Array(memory.buffer, SHADOW_COUNTS, 2 * functions);
        this.#switches = new Int32Array(switched, 0, 1);
        this.#at = new Float64Array(switched, SWITCHED_AT, 1);
        this.#bases = [new Float64Array(switched, BASES, functions), new Float64Array(switched, BASES + 8 * functions, functions)];
        this.#idBase = idBase;
    }

    /** How often it was switched. */
    get switches(): number {
        return Atomics.load(this.#switches, 0);
    }

    /** Whether calls count. */
    get isOn(): boolean {
        return this.switches % 2 === 0;
    }

    /** When it was switched last, in ticks. */
    get switchedAt(): number {
        return this.#at[0]!;
    }

    /** Switches it off or on again. For the guest's thread. */
    switch(now: number): void {
        const { switches } = this;
        const [from, to] = switches % 2 === 0 ? this.#bases : [this.#bases[1], this.#bases[0]];
        for (let n = 0; n < from.length; n++) to[n] = this.#count(n) - from[n]!;
        this.#at[0] = now;
        // Behind what it stands for: who reads meanwhile goes by the other base.
        Atomics.store(this.#switches, 0, switches + 1);
    }

    /** Forgets what was counted by now. For the guest's thread, before anybody else knows of the instance. */
    forget(): void {
        const [skipped] = this.#bases;
        for (let n = 0; n < skipped.length; n++) skipped[n] = this.#count(n);
    }

    /** Calls since `counted`, which is brought up to date. */
    since(counted: Float64Array): [func: number, calls: number][] {
        const now = new Float64Array(counted.length);
        let switches;
        do {
            switches = this.switches;
            const [skipped, kept] = this.#bases;
            for (let n = 0; n < now.length; n++) now[n] = switches % 2 === 0 ? this.#count(n) - skipped[n]! : kept[n]!;
        } while (switches !== this.switches);
        const calls: [number, number][] = [];
        for (let n = 0; n < now.length; n++) if (now[n]! > counted[n]!) calls.push([this.#idBase + n, now[n]! - counted[n]!]);
        counted.set(now);
        return calls;
    }

    /** What the module has counted. */
    #count(n: number): number {
        const words = this.#words;
        let high = words[2 * n + 1]!;
        let low = words[2 * n]!;
        // Its halves are read one after the other.
        for (let again; (again = words[2 * n + 1]!) !== high; low = words[2 * n]!) high = again;
        return high * 2 ** 32 + low;
    }
}
