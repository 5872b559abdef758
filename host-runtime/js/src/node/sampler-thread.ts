/** The thread that samples profiled instances. */

import { workerData } from 'node:worker_threads';
import { threadClock, ticksOf } from '../common/clock/clock.js';
import type { ProfiledInstance } from '../common/profile/counts.js';
import { SamplerLoop, warmUp } from '../common/profile/sampler.js';
import type { Sampling } from '../common/profile/sampling.js';
import { Inbox } from './channel.js';
import { Hub } from './hub.js';
import { HubOutput } from './hub-output.js';
import { threadOffset } from './thread.js';

export interface SamplerData {
    kperf: 'sampler';
    hub: WebAssembly.Memory;
    /** See `SamplerControl`. */
    control: SharedArrayBuffer;
    /** The channel for instances. */
    instances: string;
    /** See `threadOffset`. */
    origin: number;
    sampling: Sampling;
}

const data = workerData as SamplerData;
const instances = new Inbox<ProfiledInstance>(data.instances);
const clock = threadClock(threadOffset(data.origin));
warmUp();
const sampler = new SamplerLoop(data.control, data.sampling, () => ticksOf(clock), new HubOutput(new Hub(data.hub)));
while (sampler.run()) {
    // A thread sends a message before it counts it, unless it is terminated in between.
    const { announced } = sampler;
    instances.receive((instance) => sampler.add(instance));
    sampler.hasReceived(announced);
}
instances.close();
