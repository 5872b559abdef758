/** Preemption of a thread: how long it was ready to run, but did not. On Linux only. */

import { readFileSync, readlinkSync } from 'node:fs';
import type { Preempted } from '../common/trace/trace.js';

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
