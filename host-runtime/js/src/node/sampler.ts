/** How a thread of node talks to the one that samples. */

import type { Output } from '../common/recorder/output.js';
import { countsAlone, hasEnded, type SamplerLink } from '../common/profile/profile.js';
import type { ProfiledInstance } from '../common/profile/profiled-instance.js';
import { CONTROL_ENDED, IS_NONE, IS_RUNNING, SamplerControl, STATE } from '../common/profile/sampler.js';
import type { Sampling } from '../common/profile/sampling.js';

/** How many milliseconds the thread may take to write what is left. */
const PATIENCE = 10_000;

/** Waits until the thread runs, for so many milliseconds at most. */
export function waitForSampler({ buffer }: SamplerControl, milliseconds: number): void {
    const words = new Int32Array(buffer);
    const deadline = performance.now() + milliseconds;
    for (let state; (state = Atomics.load(words, STATE)) !== IS_RUNNING; ) {
        if (Atomics.wait(words, STATE, state, deadline - performance.now()) === 'timed-out') return;
    }
}

/** Ends the thread, even if it is only being started. If it runs, it writes what is left first. */
export function endSampler(control: SamplerControl): void {
    control.stop();
    Atomics.wait(new Int32Array(control.buffer), STATE, IS_RUNNING, PATIENCE);
}

/** Announces instances to the thread, and waits for it when they end. */
export class NodeSampler implements SamplerLink {
    readonly now: () => number;
    readonly #control: SamplerControl;
    readonly #announce: (instance: ProfiledInstance) => void;

    constructor(now: () => number, control: SamplerControl, announce: (instance: ProfiledInstance) => void) {
        this.now = now;
        this.#control = control;
        this.#announce = announce;
    }

    add(instance: ProfiledInstance): void {
        this.#announce(instance);
        this.#control.announce();
    }

    end(instance: ProfiledInstance): void {
        if (hasEnded(instance) || !this.#control.runs) return;
        this.#control.wake(instance.number);
        const waited = Atomics.wait(new Int32Array(instance.control), CONTROL_ENDED, 0, PATIENCE);
        // The sampler has ended with the thread that started it, so it isn't waited for again.
        if (waited === 'timed-out') this.#control.become(IS_RUNNING, IS_NONE);
    }
}

/** With the test clock nothing is sampled, because each reading counts. The counts are written at the end. */
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
