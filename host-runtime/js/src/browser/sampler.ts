/** Connects a page with its sampler's worker. */

import { Reason } from '../common/constants.js';
import { countsAlone, type SamplerLink } from '../common/profile/profile.js';
import type { Output } from '../common/recorder/output.js';
import type { ProfiledInstance } from '../common/profile/counts.js';
import { CONTROL_END, SamplerControl } from '../common/profile/sampler.js';
import type { Sampling } from '../common/profile/sampling.js';
import type { Found, SamplerData } from './sampler-thread.js';
import { ISOLATED, isIsolated } from './isolation.js';
import { startOwn } from './workers.js';

/** How long the worker may take for its last window, in milliseconds. */
const PATIENCE = 5000;

/** An instance that has not ended, with its counts in the trace and their time. */
interface ActiveInstance {
    instance: ProfiledInstance;
    counted: Float64Array;
    until: number;
    /** Called when the worker has ended. */
    ended: (() => void) | undefined;
}

/** Starts the worker and writes its samples. */
export class PageSampler implements SamplerLink {
    readonly now: () => number;
    readonly #output: Output;
    readonly #sampling: Sampling;
    readonly #control: SamplerControl;
    readonly #worker: Worker;
    /** The worker can't run. */
    #failed = false;
    #isLeaving = false;
    readonly #active = new Map<number, ActiveInstance>();

    /** Throws if memory can't be shared with a worker. */
    constructor(now: () => number, output: Output, sampling: Sampling) {
        if (!isIsolated()) {
            throw new Error(`kperf: a profiled module needs a page that is ${ISOLATED}; record a trace instead`);
        }
        this.#control = new SamplerControl();
        this.now = now;
        this.#output = output;
        this.#sampling = sampling;
        this.#worker = startOwn('sampler');
        this.#worker.addEventListener('error', () => (this.#failed = true));
        this.#worker.addEventListener('message', ({ data }: MessageEvent<Found>) => this.#found(data));
        const data: SamplerData = { control: this.#control.buffer, sampling, timeOrigin: performance.timeOrigin };
        this.#worker.postMessage(data);
    }

    /** Whether the worker runs, or can't run. */
    get isSettled(): boolean {
        return this.#control.runs || this.#failed;
    }

    add(instance: ProfiledInstance): void {
        const counted = new Float64Array(instance.functions);
        this.#active.set(instance.number, { instance, counted, until: instance.begun, ended: undefined });
        this.#worker.postMessage(instance);
        this.#control.announce();
    }

    end(instance: ProfiledInstance): void | Promise<void> {
        const known = this.#active.get(instance.number);
        if (!known) return;
        if (this.#isLeaving || this.#failed) return this.#countsAlone(known);
        // A worker that was terminated has not said so.
        Atomics.compareExchange(new Int32Array(instance.control), CONTROL_END, 0, Reason.Unfinished + 1);
        this.#control.wake(instance.number);
        return new Promise((resolve) => {
            const late = setTimeout(() => this.#countsAlone(known), PATIENCE);
            known.ended = () => {
                clearTimeout(late);
                resolve();
            };
        });
    }

    /** The page is being closed, and no longer waits for the worker. */
    leave(): void {
        this.#isLeaving = true;
        for (const known of this.#active.values()) if (known.ended) this.#countsAlone(known);
    }

    /** Ends the worker. */
    stop(): void {
        this.#control.stop();
    }

    #found(found: Found): void {
        const known = this.#active.get(found.number);
        if (!known) return;
        if (found.kind === 'span') return this.#output.span(found.number, found.block);
        if (found.kind === 'parent') return this.#output.parent(found.number, found.payload);
        if (found.kind === 'ended') return this.#close(known);
        known.counted = found.counted;
        known.until = found.endTicks;
        this.#output.window(found.number, found.body);
    }

    #countsAlone(known: ActiveInstance): void {
        const { instance, counted, until } = known;
        this.#output.window(instance.number, countsAlone(instance, counted, until, Math.max(until, this.now()), this.#sampling));
        this.#close(known);
    }

    #close({ instance, ended }: ActiveInstance): void {
        this.#active.delete(instance.number);
        ended?.();
    }
}
