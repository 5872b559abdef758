/**
 * The thread that ends the trace when a signal ends the process. It needs no turn of the program's event loop, and `process` shows no listener.
 * Signals that the program handles are left to it.
 */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { workerData } from 'node:worker_threads';
// What the end needs is loaded then: all threads' starts delay the program's.
import type { RecordingParts } from './signal-end.js';
import { ProgramSignals, SIGNALS } from './signals.js';

export interface SignalData extends RecordingParts {
    kperf: 'signals';
    /** See `ProgramSignals`. */
    signals: SharedArrayBuffer;
}

/** libuv's handle of a signal, which `process.on` uses in the main thread. */
interface SignalHandle {
    onsignal: () => void;
    start(number: number): number;
    close(): void;
}

const data = workerData as SignalData;
const program = new ProgramSignals(data.signals);
const handles: SignalHandle[] = [];
let isEnding = false;
try {
    watch();
} catch {
    // This node keeps its handles for itself: a signal ends the process at once.
}
program.isWatched();

function watch(): void {
    // This thread's flag `--expose-internals` allows it.
    const { internalBinding } = createRequire(import.meta.url)('internal/test/binding') as { internalBinding: (name: string) => { Signal: new () => SignalHandle } };
    const { Signal } = internalBinding('signal_wrap');
    const isIgnored = ignoredSignals();
    for (const name of SIGNALS) {
        const number = constants.signals[name as NodeJS.Signals];
        if (isIgnored(number)) continue;
        const handle = new Signal();
        handle.onsignal = () => void (program.isHandled(name) || endBy(name));
        if (handle.start(number) === 0) handles.push(handle);
        else handle.close();
    }
}

/** Tells which signals the process ignores, which then don't end it. */
function ignoredSignals(): (number: number) => boolean {
    try {
        const mask = BigInt(`0x${/^SigIgn:\s*([0-9a-f]+)/m.exec(readFileSync('/proc/self/status', 'latin1'))![1]!}`);
        return (number) => ((mask >> BigInt(number - 1)) & 1n) === 1n;
    } catch {
        // Not Linux. Node itself takes signals that its parent ignored.
        return () => false;
    }
}

/** Ends the trace and then the process. A further signal ends the process at once. */
function endBy(name: string): void {
    if (isEnding) return end(name);
    isEnding = true;
    const ended = import('./signal-end.js').then(({ endTrace, traceEnds }) => {
        // The program may be ending by itself.
        return program.claim() ? endTrace(data, `interrupted by ${name}`) : traceEnds(data);
    });
    void ended.catch(() => undefined).then(() => end(name));
}

/** Without our handles, the signal does what it does in any process. */
function end(name: string): void {
    for (const handle of handles) handle.close();
    process.kill(process.pid, name);
}
