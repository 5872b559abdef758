/** The way of a thread of node to the one that samples. */

import type { Output } from '../common/output.js';
import { countsAlone, hasEnded, type SamplerLink } from '../common/profile.js';
import type { ProfiledInstance } from '../common/profiled-instance.js';
import { CONTROL_ENDED, RUNS, SamplerControl, type Sampling } from '../common/sampler.js';

/** Milliseconds that it may take to write what is left. */
const PATIENCE = 2000;

/** Waits until the thread runs, or has ended, for so many milliseconds at most. */
export function waitForSampler({ buffer }: SamplerControl, runs: boolean, milliseconds: number): void {
    Atomics.wait(new Int32Array(buffer), RUNS, runs ? 0 : 1, milliseconds);
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
        Atomics.wait(new Int32Array(instance.control), CONTROL_ENDED, 0, PATIENCE);
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
