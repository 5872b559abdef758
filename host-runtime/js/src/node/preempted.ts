/** For how long this thread was ready to run while other threads had the processors. Linux tells; other systems don't. */

import { readFileSync, readlinkSync } from 'node:fs';
import type { Preempted } from '../common/trace/trace.js';

/** Begins to watch the thread that calls this; answers what tells what was taken from it since then. */
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
        // A kernel that doesn't tell, or a sandbox.
        return undefined;
    }
}
