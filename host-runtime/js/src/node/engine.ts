/** V8's flags for this process. */

import { setFlagsFromString } from 'node:v8';

/** Limits of inlining: nodes of V8's graph (default 5000), and a multiple of the function's size (default 3). */
const LIMITS: [flag: string, firstNode: number][] = [
    // Older versions run no inlined recorder, for want of multi-memory.
    ['--wasm-inlining-budget=20000', 22],
    ['--wasm-inlining-factor=6', 24],
];

/**
 * Lets V8 inline functions as it does without probes. Inlined probes make functions larger, so V8 would inline fewer of them, and those
 * calls would cost as much as the probes do. Affects all code that is compiled later, in all threads.
 */
export function allowInlining(): void {
    const node = Number(process.versions.node.split('.')[0]);
    for (const [flag, first] of LIMITS) if (node >= first) setFlagsFromString(flag);
}

/**
 * Lets the process end while functions are compiled. Otherwise it may hang: Sparkplug, compiling in its own thread, may wait for a garbage
 * collection by a thread that waits for Sparkplug (https://github.com/nodejs/node/issues/54918). In Node 26, 1 of 50 processes that an
 * exception ended hung.
 */
export function allowExit(): void {
    setFlagsFromString('--no-concurrent-sparkplug');
}
