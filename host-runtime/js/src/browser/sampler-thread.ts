/** Samples profiled instances in a worker. */

import type { ProfiledInstance } from '../common/profile/counts.js';
import { SamplerLoop } from '../common/profile/sampler.js';
import type { Sampling } from '../common/profile/sampling.js';

/** The first message to the worker. All others are instances. */
export interface SamplerData {
    /** See `SamplerControl`. */
    control: SharedArrayBuffer;
    sampling: Sampling;
    /** The `performance.timeOrigin` from which the trace counts. */
    timeOrigin: number;
}

/** The worker's messages. */
export type Found =
    | { kind: 'window'; number: number; body: Uint8Array; counted: Float64Array; endTicks: number }
    | { kind: 'span'; number: number; block: Uint8Array }
    | { kind: 'parent'; number: number; payload: Uint8Array }
    | { kind: 'ended'; number: number };

let sampler: SamplerLoop | undefined;

export function samplerMessage({ data }: MessageEvent<SamplerData | ProfiledInstance>): void {
    if ('number' in data) sampler?.add(data);
    else {
        const offset = performance.timeOrigin - data.timeOrigin;
        const clock = (): number => Math.floor((performance.now() + offset) * 1e6 + 0.5);
        const send = (found: Found): void => postMessage(found);
        sampler = new SamplerLoop(data.control, data.sampling, clock, {
            window: (number, body, counted, endTicks) => send({ kind: 'window', number, body, counted, endTicks }),
            span: (number, block) => send({ kind: 'span', number, block: block.slice() }),
            parent: (number, payload) => send({ kind: 'parent', number, payload }),
            ended: (number) => send({ kind: 'ended', number }),
        });
    }
    while (sampler && !sampler.isBehind) if (!sampler.run()) return close();
}
