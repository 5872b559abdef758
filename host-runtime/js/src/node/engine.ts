/** What is asked of V8. */

import { setFlagsFromString } from 'node:v8';

/** The first version whose V8 gives a module several memories: older ones run no modules that have a recorder inside. */
const FIRST = 22;
/** What a function may grow to by what is put into it, in nodes of V8's graphs; 5000 otherwise. */
const BUDGET = 20_000;

/**
 * Lets V8 put functions into their callers as it would have without probes. With a recorder inside they are larger, and what
 * V8 then calls instead costs twice what the probe does. Holds for what is compiled from here on, in all threads.
 */
export function allowInlining(): void {
    if (Number(process.versions.node.split('.')[0]) >= FIRST) setFlagsFromString(`--wasm-inlining-budget=${BUDGET}`);
}
