/** The way of a thread of node to the one that samples. */

import type { Output } from '../common/output.js';
import { countsAlone, hasEnded, type SamplerLink } from '../common/profile.js';
import type { ProfiledInstance } from '../common/profiled-instance.js';
import { CONTROL_ENDED, IS_NONE, IS_RUNNING, SamplerControl, STATE, type Sampling } from '../common/sampler.js';

/** Milliseconds that the thread may take to write what is left. */
const PATIENCE = 10_000;

/** Waits until the thread runs, for so many milliseconds at most. */
export function waitForSampler({ buffer }: SamplerControl, milliseconds: number): void {
    const words = new Int32Array(buffer);
    const deadline = performance.now() + milliseconds;
    for (let state; (state = Atomics.load(words, STATE)) !== IS_RUNNING; ) {
        if (Atomics.wait(words, STATE, state, deadline - performance.now()) === 'timed-out') return;
    }
}

/** Ends the thread, also one that is only being started. If it runs, it writes what is left before. */
export function endSampler(control: SamplerControl): void {
    control.stop();
    Atomics.wait(new Int32Array(control.buffer), STATE, IS_RUNNING, PATIENCE);
}

/** Tells the thread of instances, and waits for it at their end. */
export class NodeSampler implements SamplerLink {
    readonly now: () => number;
    readonly #control: SamplerControl;
    readonly #tell: (instance: ProfiledInstance) => void;

    constructor(now: () => number, control: SamplerControl, tell: (instance: ProfiledInstance) => void) {
        this.now = now;
        this.#control = control;
        this.#tell = tell;
    }

    add(instance: ProfiledInstance): void {
        this.#tell(instance);
        this.#control.announce();
    }

    end(instance: ProfiledInstance): void {
        if (hasEnded(instance) || !this.#control.runs) return;
        this.#control.wake();
        const waited = Atomics.wait(new Int32Array(instance.control), CONTROL_ENDED, 0, PATIENCE);
        // It has ended with the thread that started it: nobody shall wait for it again.
        if (waited === 'timed-out') this.#control.become(IS_RUNNING, IS_NONE);
    }
}

/** Under the clock for tests, whose readings are counted, nobody samples; counts are told at the end. */
export class CountsAlone implements SamplerLink {
    readonly now: () => number;
    readonly #output: Output;
    readonly #sampling: Sampling;

    constructor(now: () => number, output: Output, sampling: Sampling) {
        this.now = now;
        this.#output = output;
        this.#sampling = sampling;
    }

    add(): void {}

    end(instance: ProfiledInstance): void {
        const counted = new Float64Array(instance.functions);
        this.#output.window(instance.number, countsAlone(instance, counted, instance.begun, this.now(), this.#sampling));
    }
}
