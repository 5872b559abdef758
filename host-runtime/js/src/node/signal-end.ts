/** Ends a trace from another thread than the one that began it. */

import { writeSync } from 'node:fs';
import { threadClock, ticksOf } from '../common/clock/clock.js';
import { Reason } from '../common/constants.js';
import type { Ticker } from '../common/clock/ticker.js';
import { SamplerControl } from '../common/profile/sampler.js';
import { Follower } from './follower.js';
import { Hub } from './hub.js';
import { HubOutput } from './hub-output.js';
import { lastLines, type LastLines } from './last-lines.js';
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

/** Closes what is open, writes the rest, and reports the trace's path. */
export function endTrace({ hub, origin, ticker, sampler, follower, lines }: RecordingParts, outcome: string): void {
    const clock = threadClock(threadOffset(origin));
    const control = new SamplerControl(sampler);
    const isProfile = control.runs;
    const clockwork = { now: () => ticksOf(clock), ticker: () => ticker };
    const sending = follower && { finish: () => new Follower(follower).finish(PATIENCE) };
    let text: string;
    try {
        const queue = new Hub(hub);
        const stopOthers = (): void => {
            endSampler(control, PATIENCE);
            queue.park();
        };
        const output = new HubOutput(queue, clockwork, stopOthers, sending, PATIENCE);
        text = lastLines(output.finish(outcome, Reason.Interrupted), isProfile, lines).join('');
    } catch (error) {
        text = `${error instanceof Error ? error.message : String(error)}\n`;
    }
    writeSync(2, text);
}

/** Waits until another thread has ended the trace. */
export async function traceEnds({ hub }: RecordingParts): Promise<void> {
    const end = performance.now() + PATIENCE;
    while (!new Hub(hub).isOver && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, LOOK));
}
