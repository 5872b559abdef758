/** Settings of V8 for this process. */

import { setFlagsFromString } from 'node:v8';

/** How large inlining may make a function: the most nodes of V8's graph (default 5000), and the most times its own size (default 3). */
const LIMITS: [flag: string, firstNode: number][] = [
    // Older versions allow one memory in a module, so they run no module with a recorder inside.
    ['--wasm-inlining-budget=20000', 22],
    ['--wasm-inlining-factor=6', 24],
];

/**
 * Lets V8 inline functions as it would without probes. A recorder inside makes functions larger, so V8 would inline fewer of them,
 * and those calls would cost as much as the probes do. This changes all code that is compiled later, in all threads.
 */
export function allowInlining(): void {
    const node = Number(process.versions.node.split('.')[0]);
    for (const [flag, first] of LIMITS) if (node >= first) setFlagsFromString(flag);
}

/**
 * Lets the process end while our functions are being compiled. Otherwise it may hang: Sparkplug, compiling in a thread of its own, may
 * wait for a garbage collection by a thread that waits for Sparkplug (https://github.com/nodejs/node/issues/54918). In Node 26, 1 of 50
 * processes that an exception ended never did end.
 */
export function allowExit(): void {
    setFlagsFromString('--no-concurrent-sparkplug');
}
