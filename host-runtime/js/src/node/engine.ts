/** The engine of this process: its flags, and the original of what `register` wraps. */

import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { engine, originals } from '../common/engine.js';

/** The original; `register` wraps it later. */
export const OwnWorker = (originals.Worker ??= Worker) as typeof Worker;

const major = Number(process.versions.node.split('.')[0]);

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
    for (const [flag, first] of LIMITS) if (major >= first) setFlagsFromString(flag);
}

/**
 * Lets the process end while functions are compiled. Otherwise it may hang: Sparkplug, compiling in its own thread, may wait for a garbage
 * collection by a thread that waits for Sparkplug (https://github.com/nodejs/node/issues/54918). In Node 26, 1 of 50 processes that an
 * exception ended hung.
 */
export function allowExit(): void {
    setFlagsFromString('--no-concurrent-sparkplug');
}

/** The calls and loops of a function, in bytes of code, after which V8 optimizes it. */
const TIERING = '--wasm-tiering-budget';

/**
 * Compiles a module that V8 shall optimize later than the program's: V8 counts each call of a large function as if all of it ran. The rewriter
 * has three that were optimized after some hundred instructions of a guest: a second of another thread's time, and 110 MB, of which 45 stayed.
 */
export function compileSlowly(bytes: Uint8Array<ArrayBuffer>): WebAssembly.Module {
    // The program's choice can't be read.
    if (process.execArgv.some((flag) => flag.includes(TIERING.slice(2)))) return new engine.Module(bytes);
    setFlagsFromString(`${TIERING}=1000000000`);
    try {
        return new engine.Module(bytes);
    } finally {
        // V8's default.
        setFlagsFromString(`${TIERING}=${major < 22 ? 1_800_000 : 13_000_000}`);
    }
}

/** Why this program can't be recorded at all; `undefined` if it can. Other runtimes have node's names, but not the parts of it that recording needs. */
export function unsupportedRuntime(): string | undefined {
    for (const [key, name] of [['bun', 'Bun'], ['deno', 'Deno']] as const) {
        const version = process.versions[key];
        if (version !== undefined) return `${name} ${version} is not supported: run the program in Node.js`;
    }
    return undefined;
}
