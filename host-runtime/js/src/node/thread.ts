/** A thread's clock offset, priority and preemption. */

import type { Preempted } from '../common/trace/trace.js';
import { constants, setPriority } from 'node:os';
import { readFileSync, readlinkSync } from 'node:fs';

/** The system's clock minus this thread's `performance.now()`, in milliseconds. */
export function threadOrigin(): number {
    let best = Infinity;
    let origin = 0;
    // The best of a few tries, because the thread may be interrupted between two readings.
    for (let n = 0; n < 16; n++) {
        const before = performance.now();
        const [seconds, nanos] = process.hrtime();
        const after = performance.now();
        if (after - before >= best) continue;
        best = after - before;
        origin = seconds * 1e3 + nanos / 1e6 - (before + after) / 2;
    }
    return origin;
}

/** Milliseconds to add to this thread's readings, so that they count from the start of the thread with this origin. */
export function threadOffset(origin: number): number {
    return threadOrigin() - origin;
}

/** Lowers this thread's priority. If guest and ticker need both processors, the writer can wait: the queue has room for eight million events. */
export function giveWay(): void {
    // On other systems this would change the whole process.
    if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
}

/** Returns a function that reads the calling thread's preemption since this call. */
export function watchPreempted(): () => Preempted | undefined {
    const begin = now();
    return () => {
        const end = now();
        return begin && end && { count: end.count - begin.count, nanos: end.nanos - begin.nanos, threads: 1 };
    };
}

/** Since the thread began. */
function now(): Preempted | undefined {
    if (process.platform !== 'linux') return undefined;
    try {
        const thread = `/proc/${readlinkSync('/proc/thread-self')}`;
        // On a processor, waiting for one, times that it got one.
        const nanos = Number(readFileSync(`${thread}/schedstat`, 'latin1').split(' ')[1]);
        const count = Number(/^nonvoluntary_ctxt_switches:\s*(\d+)/m.exec(readFileSync(`${thread}/status`, 'latin1'))?.[1]);
        return Number.isFinite(nanos) && Number.isFinite(count) ? { count, nanos, threads: 1 } : undefined;
    } catch {
        // A kernel without this file, or a sandbox.
        return undefined;
    }
}
