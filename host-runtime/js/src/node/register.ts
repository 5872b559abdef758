/**
 * `node --import kperf-wasm/register app.mjs`: records every probed module that the program and its worker threads
 * instantiate, and writes the trace when the process ends.
 */

import { syncBuiltinESMExports } from 'node:module';
import threads, { isMainThread, workerData } from 'node:worker_threads';
import { Reason } from '../common/constants.js';
import { hook } from '../common/hook.js';
import { isProfile } from '../common/profile.js';
import { hookSuspension } from '../common/suspension.js';
import { tracesUrl } from '../common/otlp-settings.js';
import { undelivered } from '../common/otlp-sink.js';
import type { Recorder } from '../common/recorder.js';
import type { Summary } from '../common/trace.js';
import { allowExit } from './engine.js';
import { createRecorder, defaultPath, joinRecorder, leaveRecorder } from './index.js';
import { readSettings } from './settings.js';

const settings = readSettings(process.env);
const path = settings.path ?? defaultPath();
let recorder: Recorder | undefined;

/** Threads of ours have nothing to record. */
const isOurs = typeof workerData === 'object' && workerData !== null && 'kperf' in workerData;
if (settings.enabled && !isOurs) {
    hookSuspension(() => recorder?.suspension);
    const begin = isMainThread ? registerMain() : registerWorker();
    // As in a page: the thread's recorder, which begins with the first probed module, or when this is asked for.
    Object.defineProperty(globalThis, 'kperf', { configurable: true, get: () => begin() });
    hook(begin);
}

function registerMain(): (module?: WebAssembly.Module) => Recorder {
    let uncaught: string | undefined;
    const begin = (module?: WebAssembly.Module): Recorder => {
        if (recorder) return recorder;
        // The first module decides: a profile needs no ticker.
        const record = settings.record ?? (module && isProfile(module) ? 'profile' : 'trace');
        const { clock, calibrate, inlining, otlp, sampling } = settings;
        allowExit();
        recorder = createRecorder({ path, clock, record, sampling, calibrate, inlining, ...(otlp && { otlp }) });
        recorder.onExit = (code, exit) => {
            // That of `node:wasi` with `returnOnExit: false` ends the process at once, past all handlers.
            if (exit.name !== 'bound proc_exit') return;
            end(code === 0 ? 'completed' : `exit ${code}`);
            (process as unknown as { reallyExit: (code: number) => never }).reallyExit(code);
        };
        return recorder;
    };
    process.on('uncaughtExceptionMonitor', (error) => {
        uncaught = `${error instanceof WebAssembly.RuntimeError ? 'trap' : 'error'}: ${error?.message ?? String(error)}`;
        recorder?.close(error instanceof WebAssembly.RuntimeError ? Reason.Trap : Reason.Host);
    });
    process.on('exit', (code) => end(uncaught ?? (code === 0 ? 'completed' : `exit ${code}`)));
    // A thread takes part in the recording that is there when it starts.
    const { Worker } = threads;
    threads.Worker = new Proxy(Worker, {
        construct(target, parameters: ConstructorParameters<typeof Worker>, newTarget) {
            begin();
            return Reflect.construct(target, parameters, newTarget) as object;
        },
    });
    syncBuiltinESMExports();
    return begin;
}

function registerWorker(): () => Recorder | undefined {
    process.on('exit', () => recorder && leaveRecorder(recorder));
    return () => (recorder ??= joinRecorder());
}

/** Writes the rest of the trace, and says where it is. */
function end(outcome: string): void {
    if (!recorder) return;
    try {
        const { events, probes, dropped_events, sent } = recorder.finishSync(outcome, Reason.Exit);
        tellSent(sent);
        const { unseen } = recorder;
        if (unseen > 0) process.stderr.write(`kperf: what ${unseen} instance${unseen > 1 ? 's' : ''} did in a start section that failed is not in the trace; \`--probe import\` keeps it\n`);
        if (settings.quiet || probes === 0) return;
        const lost = dropped_events > 0 ? `, ${dropped_events} lost` : '';
        const what = recorder.profiles > 0 ? `a profile of ${probes} functions` : `${events} events of ${probes} functions`;
        process.stderr.write(`kperf: ${what}${lost}: kperf-wasm report ${path}\n`);
    } catch (error) {
        process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    }
}

/** Says what became of the spans: what was lost in any case. */
function tellSent(sent: Summary['sent']): void {
    if (!settings.otlp || !sent) return;
    const url = tracesUrl(settings.otlp);
    const trouble = sent.failure ?? (sent.delivery && undelivered(sent.delivery, url));
    if (trouble !== undefined) process.stderr.write(`${trouble.startsWith('kperf: ') ? '' : 'kperf: '}${trouble}; \`kperf-wasm send ${path}\` sends them again\n`);
    else if (!settings.quiet && sent.delivery) process.stderr.write(`kperf: ${sent.delivery.acknowledged} spans sent to ${url}\n`);
}
