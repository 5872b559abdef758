/** What V8 is told in this process. */

import { setFlagsFromString } from 'node:v8';

/** What a function may grow to by what is put into it: nodes of V8's graphs, 5000 otherwise, and so many times what it was, 3 otherwise. */
const LIMITS: [flag: string, firstNode: number][] = [
    // Older ones give modules one memory, and run none that have a recorder inside.
    ['--wasm-inlining-budget=20000', 22],
    ['--wasm-inlining-factor=6', 24],
];

/**
 * Lets V8 put functions into their callers as it would have without probes. With a recorder inside they are larger, and what
 * V8 then calls instead costs as much as the probe does. Holds for what is compiled from here on, in all threads.
 */
export function allowInlining(): void {
    const node = Number(process.versions.node.split('.')[0]);
    for (const [flag, first] of LIMITS) if (node >= first) setFlagsFromString(flag);
}

/**
 * Lets the process end while functions of ours are compiled, which have much to do then: in a thread of its own Sparkplug may wait for a
 * garbage collection, by a thread that waits for it (https://github.com/nodejs/node/issues/54918). In Node 26 1 of 50 processes that an
 * exception ended never did.
 */
export function allowExit(): void {
    setFlagsFromString('--no-concurrent-sparkplug');
}
