/** Ends a trace from another thread than the one that began it. */

import { writeSync } from 'node:fs';
import { threadClock, ticksOf } from '../common/clock/clock.js';
import { Reason } from '../common/constants.js';
import type { Ticker } from '../common/clock/ticker.js';
import { SamplerControl } from '../common/profile/sampler.js';
import { Follower, type Followed } from './follower.js';
import { Hub } from './hub.js';
import { HubOutput } from './hub-output.js';
import { lastLines, sentOfBroken, type LastLines } from './last-lines.js';
import { endSampler } from './sampler.js';
import { threadOffset } from './thread.js';

/** A recording's parts. */
export interface RecordingParts {
    hub: WebAssembly.Memory;
    /** See `threadOffset`. */
    origin: number;
    ticker?: Ticker;
    /** See `SamplerControl`. */
    sampler: SharedArrayBuffer;
    /** Shared with the thread that sends spans. */
    follower?: SharedArrayBuffer;
    lines: LastLines;
}

/** Milliseconds that each of sampling, writing and sending may take. */
const PATIENCE = 5000;
/** Milliseconds between looks at the writer. */
const LOOK = 10;

/** Closes what is open, writes the rest, and reports the trace's path. While spans are sent, this thread takes further signals. */
export async function endTrace({ hub, origin, ticker, sampler, follower, lines }: RecordingParts, outcome: string): Promise<void> {
    const clock = threadClock(threadOffset(origin));
    const control = new SamplerControl(sampler);
    const isProfile = control.runs;
    const clockwork = { now: () => ticksOf(clock), ticker: () => ticker };
    const queue = new Hub(hub);
    const stopOthers = (): void => {
        endSampler(control, PATIENCE);
        queue.park();
    };
    let text: string;
    const sending = follower && new Follower(follower);
    try {
        const summary = new HubOutput(queue, clockwork, stopOthers, undefined, PATIENCE).finish(outcome, Reason.Interrupted);
        const sent = sending && (await sentBy(sending));
        text = lastLines({ ...summary, ...(sent && { sent }) }, isProfile, lines).join('');
    } catch (error) {
        text = `${error instanceof Error ? error.message : String(error)}${sentOfBroken(sending && (await sentBy(sending)))}\n`;
    }
    writeSync(2, text);
}

async function sentBy(follower: Follower): Promise<Followed> {
    const end = performance.now() + PATIENCE;
    while (!follower.end() && performance.now() < end) await pause();
    return follower.finish(0);
}

/** Waits until another thread has ended the trace. */
export async function traceEnds({ hub }: RecordingParts): Promise<void> {
    const end = performance.now() + PATIENCE;
    while (!new Hub(hub).isOver && performance.now() < end) await pause();
}

function pause(): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, LOOK));
}
