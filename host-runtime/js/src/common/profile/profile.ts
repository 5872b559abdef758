/** The guest thread's side of a profiled instance (`kperf-wasm rewrite --record profile`). */

import { EXPORT_PREFIX, Reason, SHADOW_LAST, SHADOW_STACK } from '../constants.js';
import { Counts, type ProfiledInstance, switchBuffer, switchCounts } from './counts.js';
import { exportsOf } from '../engine.js';
import { equalParents, parentPayload, type Parent } from '../trace/parent.js';
import { CONTROL_BYTES, CONTROL_DEPTH, CONTROL_END, CONTROL_ENDED, CONTROL_TAKEN, CONTROL_OPEN, CONTROL_REASON, CONTROL_UNWOUND } from './sampler.js';
import type { Sampling } from './sampling.js';
import { parentCell, writeParent } from './parent-cell.js';
import { encodeWindow } from '../trace/window.js';

/** The connection to a sampler's thread. */
export interface SamplerLink {
    /** Reads the clock, in ticks. */
    now(): number;
    /** Starts to sample an instance. */
    add(instance: ProfiledInstance): void;
    /** Ends an instance whose `CONTROL_END` is set. After that its samples and counts are on their way to the trace. */
    end(instance: ProfiledInstance): void | Promise<void>;
}

interface Cell {
    value: number;
}

/** A suspended stack. */
interface Saved {
    slots: Uint32Array;
    parent: Parent | undefined;
}

/** The address of the next call's slot. */
const TOP = `${EXPORT_PREFIX}state.top`;

/** Whether a module makes a profile. Throws if it has no shadow stack, which JavaScript needs. */
export function isProfile(module: WebAssembly.Module): boolean {
    const names = exportsOf(module).map(({ name }) => name);
    if (names.includes(TOP)) return true;
    if (names.includes(`${EXPORT_PREFIX}state.functions`)) throw new Error('the profile has no shadow stack: rewrite the original with --stack shadow');
    return false;
}

/** Whether an instance makes a profile. */
export function makesProfile(exports: WebAssembly.Exports): boolean {
    return TOP in exports;
}

/** The shadow stack of an instance, which it doesn't keep alive. */
export class Profile {
    readonly #exports: WeakRef<WebAssembly.Exports>;
    readonly #instance: ProfiledInstance;
    readonly #link: SamplerLink;
    /** Two words for each slot. */
    readonly #slots: Uint32Array;
    readonly #control: Int32Array;
    #on: boolean;
    /** The parent of the outermost calls of the running stack. */
    #parent: Parent | undefined;
    /** The open calls of suspended stacks. */
    readonly #saved = new Map<number, Saved>();
    #stack = 0;
    #ended: void | Promise<void> | undefined;

    /** If it is not `on`, calls don't count until it is switched on, including those of a start section. */
    constructor(exports: WebAssembly.Exports, number: number, link: SamplerLink, on: boolean) {
        this.#exports = new WeakRef(exports);
        this.#link = link;
        const of = (name: string): unknown => exports[EXPORT_PREFIX + name];
        const memory = of('memory') as WebAssembly.Memory;
        const control = new SharedArrayBuffer(CONTROL_BYTES);
        const [idBase, functions] = [of('state.id_base') as Cell, of('state.functions') as Cell].map(({ value }) => value) as [number, number];
        const begun = link.now();
        this.#instance = { number, memory, idBase, functions, begun, control, switched: switchBuffer(functions, begun, on), parent: parentCell() };
        this.#slots = new Uint32Array(memory.buffer, 0, SHADOW_LAST / 4 + 2);
        this.#control = new Int32Array(control);
        this.#on = on;
        link.add(this.#instance);
    }

    get depth(): number {
        const top = this.#top;
        if (top) return (Math.min(top.value, SHADOW_LAST) - SHADOW_STACK) / 8;
        let depth = 0;
        while (this.#slots[SHADOW_STACK / 4 + 2 * depth]) depth++;
        return depth;
    }

    get stack(): number {
        return this.#stack;
    }

    close(reason: Reason, depth: number): void {
        let open = this.depth;
        // A leaf function doesn't move the top.
        if (this.#slots[SHADOW_STACK / 4 + 2 * open]) open++;
        if (depth >= open) return;
        const control = this.#control;
        // The sampler may not have taken the unwinds before.
        const isFirst = Atomics.add(control, CONTROL_UNWOUND, 1) === Atomics.load(control, CONTROL_TAKEN);
        control[CONTROL_DEPTH] = isFirst ? depth : Math.min(depth, control[CONTROL_DEPTH]!);
        if (isFirst) control[CONTROL_OPEN] = open;
        control[CONTROL_REASON] = reason;
        this.#clear(depth);
        Atomics.add(control, CONTROL_UNWOUND, 1);
    }

    switch(stack: number): void {
        if (stack === this.#stack) return;
        const top = this.#top;
        const begin = SHADOW_STACK / 4;
        this.#saved.set(this.#stack, { slots: this.#slots.slice(begin, begin + 2 * this.depth), parent: this.#parent });
        this.#clear(0);
        const saved = this.#saved.get(stack);
        this.#saved.delete(stack);
        this.#stack = stack;
        if (!saved || !top) return;
        this.setParent(saved.parent);
        this.#slots.set(saved.slots, begin);
        top.value = SHADOW_STACK + 4 * saved.slots.length;
    }

    /** Sets the parent of later outermost calls. Does nothing while calls are open. */
    setParent(parent: Parent | undefined): void {
        const payload = !equalParents(parent, this.#parent) && this.depth === 0 && parentPayload(parent);
        if (!payload) return;
        this.#parent = parent;
        writeParent(this.#instance.parent, payload);
    }

    /** Closes calls that an exception left open, while the guest's thread does something else. */
    settle(reason: Reason): void {
        // Only the first slot is read: there may be thousands of instances, and this is called often.
        if (this.#stack === 0 && this.#slots[SHADOW_STACK / 4] !== 0) this.close(reason, 0);
    }

    flush(): void {}

    /** Samples are taken of the running stack only. */
    wait(): void {}

    /** Switches it off or on. The sampler notices at its next look. */
    setRecording(on: boolean): void {
        if (on === this.#on) return;
        this.#on = on;
        switchCounts(this.#instance, this.#link.now());
    }

    /** Closes open calls and hands over the rest. Later calls are dropped. */
    end(reason: Reason): void | Promise<void> {
        if (Atomics.load(this.#control, CONTROL_END) === 0) {
            Atomics.store(this.#control, CONTROL_END, reason + 1);
            this.#ended = this.#link.end(this.#instance);
        }
        return this.#ended;
    }

    /** Ends an instance that is gone. */
    retire(reason: Reason): void | Promise<void> {
        // An exception left them open.
        this.settle(Reason.Host);
        return this.end(reason);
    }

    get #top(): Cell | undefined {
        return this.#exports.deref()?.[TOP] as Cell | undefined;
    }

    /** Frees deeper slots, the outermost first, so that readers see no call without its caller. */
    #clear(depth: number): void {
        const slots = this.#slots;
        for (let at = SHADOW_STACK / 4 + 2 * depth; at < slots.length && slots[at] !== 0; at += 2) slots[at] = slots[at + 1] = 0;
        const top = this.#top;
        if (top) top.value = SHADOW_STACK + 8 * depth;
    }
}

/** Whether a sampler has ended an instance. */
export function hasEnded(instance: ProfiledInstance): boolean {
    return Atomics.load(new Int32Array(instance.control), CONTROL_ENDED) === 1;
}

/** A window without samples, for threads that can't wait for the sampler. */
export function countsAlone(instance: ProfiledInstance, counted: Float64Array, startTicks: number, endTicks: number, sampling: Sampling): Uint8Array {
    const { periodNanos, spanMinNanos = 0 } = sampling;
    const nothing = { samples: 0, torn: 0, cut: 0, idleTicks: 0, squares: 0, nodes: [] };
    const counts = new Counts(instance);
    const end = counts.switches % 2 === 0 ? endTicks : Math.max(startTicks, counts.switchedAt);
    return encodeWindow({ startTicks, endTicks: end, periodNanos, spanMinNanos, ...nothing, calls: counts.since(counted) });
}
