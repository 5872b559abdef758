/** Guest threads' connection to the sampler's thread, in node. */

import type { Output } from '../common/recorder/output.js';
import { countsAlone, hasEnded, type SamplerLink } from '../common/profile/profile.js';
import type { ProfiledInstance } from '../common/profile/counts.js';
import { CONTROL_ENDED, IS_NONE, IS_RUNNING, SamplerControl, STATE } from '../common/profile/sampler.js';
import type { Sampling } from '../common/profile/sampling.js';

/** Milliseconds that the sampler may take to write the rest. */
const PATIENCE = 10_000;

/** Waits until the sampler runs. */
export function waitForSampler({ buffer }: SamplerControl, milliseconds: number): void {
    const words = new Int32Array(buffer);
    const deadline = performance.now() + milliseconds;
    for (let state; (state = Atomics.load(words, STATE)) !== IS_RUNNING; ) {
        if (Atomics.wait(words, STATE, state, deadline - performance.now()) === 'timed-out') return;
    }
}

/** Ends the sampler, also while it is starting. A running one first writes the rest. */
export function endSampler(control: SamplerControl, milliseconds = PATIENCE): void {
    control.stop();
    Atomics.wait(new Int32Array(control.buffer), STATE, IS_RUNNING, milliseconds);
}

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
        // It has ended with the thread that started it, so don't wait for it again.
        if (waited === 'timed-out') this.#control.become(IS_RUNNING, IS_NONE);
    }
}

/** For the test clock, which every reading advances: takes no samples, and writes the counts at the end. */
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
