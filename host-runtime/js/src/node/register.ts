/**
 * `node --import kperf-wasm/register app.mjs`: records every probed module that the program and its worker threads
 * instantiate, and writes the trace when the process ends.
 */

import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads';
import { Reason } from '../common/constants.js';
import '../common/hook/global.js';
import { hook } from '../common/hook/hook.js';
import type { Loading } from '../common/hook/loading.js';
import { isProfile } from '../common/profile/profile.js';
import { reasonOf } from '../common/reason.js';
import { hookSuspension } from '../common/recorder/suspension.js';
import { tracesUrl } from '../common/otlp/settings.js';
import { undelivered } from '../common/otlp/sink.js';
import type { Recorder } from '../common/recorder/recorder.js';
import type { Summary } from '../common/trace/trace.js';
import { allowExit } from './engine.js';
import { checkOptions, loadingOf, missing } from './loading.js';
import { createRecorder, defaultPath, joinRecorder, leaveRecorder } from './index.js';
import { reachRealms } from './realms.js';
import { readSettings, type Settings } from './settings.js';
import { warn } from './warn.js';
import { ownPathOf } from './trace-file.js';
import { hookImports } from './wasm-imports.js';

/** The variable that has the id of the first process. */
const FIRST = 'KPERF_PROCESS';
const ENVIRONMENT = 'kperf-wasm-environment';
/** Worker threads may be given another environment than the process has. */
const environment = isMainThread ? { ...process.env } : ((getEnvironmentData(ENVIRONMENT) as NodeJS.ProcessEnv | undefined) ?? process.env);
if (isMainThread) setEnvironmentData(ENVIRONMENT, Object.fromEntries(Object.entries(environment).filter(([name]) => /^(KPERF|OTEL|XDG)_|^LOCALAPPDATA$/.test(name))));
const settings = settingsOf(environment);
const path = ownPath(settings.path ?? defaultPath());
/** The same, whatever folder the program goes to. */
const file = resolve(path);
let recorder: Recorder | undefined;
let loading: Loading | undefined;

/** Our own threads have nothing to record. */
const isOurs = !isMainThread && /^\w+-thread\.js$/.test(process.argv[1]?.replace(fileURLToPath(new URL('.', import.meta.url)), '') ?? '');
if (settings.enabled && !isOurs) {
    try {
        register();
    } catch (error) {
        warn(`nothing is recorded: ${Object.isFrozen(WebAssembly) ? 'WebAssembly is frozen (--frozen-intrinsics)' : reasonOf(error)}`);
    }
}

function register(): void {
    hookSuspension(() => recorder?.suspension);
    const begin = isMainThread ? registerMain() : registerWorker();
    // As in a page: the recording begins with the first probed module, or when this property is read.
    Object.defineProperty(globalThis, 'kperf', {
        configurable: true,
        get: () => begin(),
        // A program that has something of this name keeps it.
        set: (value: unknown) => Object.defineProperty(globalThis, 'kperf', { value, writable: true, enumerable: true, configurable: true }),
    });
    loading = settings.loading && loadingOf(settings.loading);
    const hooks = { recorder: begin, loading, warn };
    const reached = new WeakSet<object>([WebAssembly]);
    hook(hooks);
    hookImports(begin, loading);
    /** What a program starts is started, whatever we make of it. */
    const attempt = (reach: () => void): void => {
        try {
            reach();
        } catch (error) {
            warn(`not all is recorded: ${reasonOf(error)}`);
        }
    };
    reachRealms(() => isMainThread && attempt(begin), (realm) => {
        if (reached.has(realm)) return;
        reached.add(realm);
        attempt(() => hook(hooks, realm));
    });
}

/** Settings that make no sense end the process, before it does anything. */
function settingsOf(environment: NodeJS.ProcessEnv): Settings {
    try {
        const settings = readSettings(environment);
        if (isMainThread && settings.enabled && settings.loading) checkOptions(settings.loading.options);
        return settings;
    } catch (error) {
        warn(reasonOf(error));
        process.exit(1);
    }
}

function registerMain(): (module?: WebAssembly.Module) => Recorder {
    let uncaught: string | undefined;
    const begin = once((module?: WebAssembly.Module): Recorder => {
        // The first module decides whether there is a ticker: a profile needs none.
        const record = settings.record ?? (module && isProfile(module) ? 'profile' : 'trace');
        const { clock, calibrate, inlining, otlp, sampling } = settings;
        allowExit();
        recorder = createRecorder({ path: file, clock, record, sampling, calibrate, inlining, ...(otlp && { otlp }) });
        recorder.onExit = (code, exit) => {
            // `proc_exit` of `node:wasi` with `returnOnExit: false` ends the process at once, without calling handlers: its `reallyExit` isn't ours.
            if (exit.name !== 'bound proc_exit') return;
            (process as unknown as { reallyExit: (code: number) => never }).reallyExit(code);
        };
        return recorder;
    });
    process.on('uncaughtExceptionMonitor', (error) => {
        uncaught = `${error instanceof WebAssembly.RuntimeError ? 'trap' : 'error'}: ${error?.message ?? String(error)}`;
        recorder?.close(error instanceof WebAssembly.RuntimeError ? Reason.Trap : Reason.Host);
    });
    atExit((code) => end(uncaught ?? (code === 0 ? 'completed' : `exit ${code}`)));
    return begin;
}

function registerWorker(): () => Recorder | undefined {
    atExit(() => recorder && leaveRecorder(recorder));
    return once(() => (recorder = joinRecorder()));
}

/**
 * Calls a function once when the thread ends, with its exit code: behind the program's own handlers, in which guests run too, and also if
 * one of them throws or ends the process at once.
 */
function atExit(end: (code: number) => void): void {
    let isOver = false;
    const over = (code: number): void => {
        if (isOver) return;
        isOver = true;
        end(code);
    };
    const own = process as unknown as { emit: (event: string | symbol, ...rest: unknown[]) => boolean; reallyExit: (code?: number) => never };
    const { emit, reallyExit } = own;
    own.emit = function (this: unknown, event, ...rest) {
        if (event !== 'exit' || this !== process) return emit.call(this, event, ...rest);
        try {
            return emit.call(this, event, ...rest);
        } finally {
            over(Number(process.exitCode ?? rest[0] ?? 0));
        }
    };
    own.reallyExit = (code) => {
        over(code ?? 0);
        return reallyExit.call(process, code);
    };
}

/** A recording begins once; if it can't, it can't. */
function once<Given extends unknown[], Begun>(begin: (...given: Given) => Begun): (...given: Given) => Begun {
    let begun: { is: Begun } | undefined;
    let failure: unknown;
    return (...given) => {
        if (failure !== undefined) throw failure;
        try {
            return (begun ??= { is: begin(...given) }).is;
        } catch (error) {
            throw (failure = error);
        }
    };
}

/** Writes the rest of the trace, and prints where it is. */
function end(outcome: string): void {
    if (!recorder) return reportNothing();
    if (settings.loading) for (const name of missing(settings.loading.options)) warn(`KPERF_ALLOCATOR: no module of the program has the function of \`${name}\``);
    try {
        const { events, probes, dropped_events, sent, other } = recorder.finishSync(outcome, Reason.Exit);
        const written = other === undefined ? path : ownPathOf(path);
        reportSent(sent, written);
        if (other !== undefined) warn(`${path} has the trace of process ${other}, which ran at the same time; that of this process is in ${written}`);
        const { unseen } = recorder;
        if (unseen > 0) process.stderr.write(`kperf: what ${unseen} instance${unseen > 1 ? 's' : ''} did in a start section that failed is not in the trace; \`--probe import\` keeps it\n`);
        if (settings.quiet || probes === 0) return;
        const lost = dropped_events > 0 ? `, ${dropped_events} lost` : '';
        const what = recorder.profiles > 0 ? `a profile of ${probes} functions` : `${events} events of ${probes} functions`;
        process.stderr.write(`kperf: ${what}${lost}: kperf-wasm report ${written}\n`);
    } catch (error) {
        process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    }
}

/**
 * The trace's file of this process: with its id, if it was started by a process that records, or may do so, to a file of that name. The
 * environment tells.
 */
function ownPath(path: string): string {
    if (!isMainThread || !settings.enabled) return path;
    const first = process.env[FIRST];
    process.env[FIRST] ??= String(process.pid);
    if (first === undefined || first === String(process.pid) || settings.isOwnPath) return path;
    return ownPathOf(path);
}

/** Says why there is no trace, if the filters have left nothing. */
function reportNothing(): void {
    const { selected, seen } = loading ?? { selected: 1, seen: 0 };
    if (settings.quiet || seen === 0 || selected > 0) return;
    process.stderr.write(`kperf: no function of the program's ${seen} module${seen > 1 ? 's' : ''} is meant by KPERF_ONLY, KPERF_SKIP, KPERF_MIN_INSTRUCTIONS and KPERF_EXPORTS\n`);
}

/** Prints what became of the spans. Lost spans are printed even with KPERF_QUIET. */
function reportSent(sent: Summary['sent'], path: string): void {
    if (!settings.otlp || !sent) return;
    const url = tracesUrl(settings.otlp);
    const trouble = sent.failure ?? (sent.delivery && undelivered(sent.delivery, url));
    if (trouble !== undefined) process.stderr.write(`${trouble.startsWith('kperf: ') ? '' : 'kperf: '}${trouble}; \`kperf-wasm send ${path}\` sends them again\n`);
    else if (!settings.quiet && sent.delivery) process.stderr.write(`kperf: ${sent.delivery.acknowledged} spans sent to ${url}\n`);
}
