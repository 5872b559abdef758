/** `node --import kperf-wasm/register app.mjs`: records the modules of the program and its worker threads to a file. */

import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads';
import { Reason } from '../common/constants.js';
import { originals } from '../common/engine.js';
import '../common/hook/global.js';
import { hook } from '../common/hook/hook.js';
import type { Loading } from '../common/hook/loading.js';
import { isProfile } from '../common/profile/profile.js';
import { hasContextManager } from '../common/trace/parent.js';
import { reasonOf } from '../common/warn.js';
import { hookSuspension } from '../common/recorder/suspension.js';
import { hasMultiMemory } from '../common/recorder/lane.js';
import type { Recorder } from '../common/recorder/recorder.js';
import { prepareContexts } from './contexts.js';
import { allowExit, unsupportedRuntime } from './engine.js';
import { checkOptions, loadingOf, missingAllocators } from './loading.js';
import { addNote, createRecorder, defaultPath, joinRecorder, leaveRecorder } from './index.js';
import { lastLines, type LastLines } from './last-lines.js';
import { reachRealms } from './realms.js';
import { readSettings, type Settings } from './settings.js';
import { ProgramSignals } from './signals.js';
import { warn } from './warn.js';
import { ownPathOf } from './trace-file.js';
import { hookImports } from './wasm-imports.js';

/** The variable with the id of the first process. */
const FIRST = 'KPERF_PROCESS';
const ENVIRONMENT = 'kperf-wasm-environment';
/** Worker threads may have another environment, so the main thread's settings are passed on. */
const environment = isMainThread ? { ...process.env } : ((getEnvironmentData(ENVIRONMENT) as NodeJS.ProcessEnv | undefined) ?? process.env);
if (isMainThread) setEnvironmentData(ENVIRONMENT, Object.fromEntries(Object.entries(environment).filter(([name]) => /^(KPERF|OTEL|XDG)_|^LOCALAPPDATA$/.test(name))));
const settings = settingsOf(environment);
const path = ownPath(settings.path ?? defaultPath());
/** The absolute path: the program may change its working directory. */
const file = resolve(path);
let recorder: Recorder | undefined;
/** Lines about modules that are not recorded, of this thread. */
const missing = new Set<string>();
const MAX_MISSING = 20;
let loading: Loading | undefined;
const lines: LastLines = { path, quiet: settings.quiet, otlp: settings.otlp };
const signals = new ProgramSignals();
/** Threads may have modules that this one doesn't know. */
let hasThreads = false;

/** Our own threads have nothing to record. */
const isOurs = !isMainThread && /^\w+-thread\.js$/.test(process.argv[1]?.replace(fileURLToPath(new URL('.', import.meta.url)), '') ?? '');
if (settings.enabled && !isOurs) {
    try {
        const reason = unsupportedRuntime() ?? unsupportedRecord(settings);
        if (reason === undefined && isFirstCopy()) register();
        else if (reason !== undefined && isMainThread) warn(`nothing is recorded: ${reason}`);
    } catch (error) {
        warn(`nothing is recorded: ${Object.isFrozen(WebAssembly) ? 'WebAssembly is frozen (--frozen-intrinsics)' : reasonOf(error)}`);
    }
}

function register(): void {
    hookSuspension(() => recorder?.suspension);
    const begin = isMainThread ? registerMain() : registerWorker();
    // The recording begins with the first probed module, or when this property is read.
    Object.defineProperty(globalThis, 'kperf', {
        configurable: true,
        get: () => begin(),
        // A program may define this name itself.
        set: (value: unknown) => Object.defineProperty(globalThis, 'kperf', { value, writable: true, enumerable: true, configurable: true }),
    });
    loading = settings.loading && loadingOf(settings.loading, () => void (hasContextManager() && prepareContexts()), unrecorded);
    const hooks = { recorder: begin, loading, warn: unrecorded };
    const reached = new WeakSet<object>([WebAssembly]);
    hook(hooks);
    hookImports(begin, loading, unrecorded);
    /** Our failure must not keep a program from starting things. */
    const attempt = (reach: () => void): void => {
        try {
            reach();
        } catch (error) {
            warn(`not all is recorded: ${reasonOf(error)}`);
        }
    };
    reachRealms(() => {
        hasThreads = true;
        if (isMainThread) attempt(begin);
    }, (realm) => {
        if (reached.has(realm)) return;
        reached.add(realm);
        attempt(() => hook(hooks, realm));
    });
}

/** Warns that a module is not recorded. Reports of the trace say so, too. */
function unrecorded(line: string): void {
    warn(line);
    if (missing.has(line) || missing.size >= MAX_MISSING) return;
    missing.add(line);
    if (recorder) addNote(line);
}

/** Invalid settings end the process before it does anything. */
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

/** Why this engine can't record what the settings want. */
function unsupportedRecord({ record }: Settings): string | undefined {
    if (record === 'profile' && !hasMultiMemory) return 'a profile needs Node.js 22 or newer; KPERF_RECORD=trace records a trace';
    return undefined;
}

/** Of several copies of this package the first records the program. They don't record each other. */
function isFirstCopy(): boolean {
    const { registered } = originals;
    originals.registered ??= import.meta.url;
    if (originals.registered === import.meta.url) return true;
    if (isMainThread) warn(`there are two copies of kperf-wasm: ${registered} records the program, ${import.meta.url} does nothing`);
    return false;
}

function registerMain(): (module?: WebAssembly.Module) => Recorder {
    let uncaught: string | undefined;
    const begin = once((module?: WebAssembly.Module): Recorder => {
        // Unless set, the first module decides: a profile needs no ticker.
        const record = settings.record ?? (module && isProfile(module) ? 'profile' : 'trace');
        const { clock, calibrate, otlp, notSent, sampling } = settings;
        if (notSent !== undefined) warn(`no spans are sent, only ${path} is written: ${notSent}`);
        allowExit();
        recorder = createRecorder({ path: file, clock, record, sampling, calibrate, ...(otlp && { otlp }) }, { signals, lines });
        for (const line of missing) addNote(line);
        recorder.onExit = (code, exit) => {
            // `proc_exit` of `node:wasi` with `returnOnExit: false` ends the process without calling handlers, past our `reallyExit`.
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
    return once(() => {
        recorder = joinRecorder();
        if (recorder) for (const line of missing) addNote(line);
        return recorder;
    });
}

/** Calls a function once when the thread ends: after the program's own handlers, in which guests may run, even if one throws or exits. */
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
        if (this === process) signals.emits(event, rest);
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

/** Returns the first call's result in later calls, or throws its error again. */
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

/** Writes the rest of the trace, and reports its path. */
function end(outcome: string): void {
    if (!recorder) return reportNothing();
    if (!hasThreads) for (const name of missingAllocators.names) warn(`KPERF_ALLOCATOR: no module has the function of \`${name}\``);
    const isOurs = signals.claim();
    try {
        const summary = recorder.finishSync(outcome, Reason.Exit);
        // A signal that ends the process at this moment reports it.
        if (!isOurs) return;
        const { unseen } = recorder;
        if (unseen > 0) process.stderr.write(`kperf: the trace lacks the start section${unseen > 1 ? 's' : ''} of ${unseen} instance${unseen > 1 ? 's' : ''} that failed to start; \`--probe import\` records ${unseen > 1 ? 'them' : 'it'}\n`);
        for (const line of lastLines(summary, recorder.profiles > 0, lines)) process.stderr.write(line);
    } catch (error) {
        process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    }
}

/** The path of this process's trace: with its id if a process with `register` started it, which the environment shows. */
function ownPath(path: string): string {
    if (!isMainThread || !settings.enabled) return path;
    const first = process.env[FIRST];
    process.env[FIRST] ??= String(process.pid);
    if (first === undefined || first === String(process.pid) || settings.isOwnPath) return path;
    return ownPathOf(path);
}

/** Reports that there is no trace because the filters select no function. */
function reportNothing(): void {
    const { selected, seen } = loading ?? { selected: 1, seen: 0 };
    if (settings.quiet || seen === 0 || selected > 0) return;
    const others = missing.size > 0 ? 'other ' : '';
    process.stderr.write(`kperf: KPERF_ONLY, KPERF_SKIP, KPERF_PLAN, KPERF_MIN_INSTRUCTIONS and KPERF_EXPORTS select no function of the program's ${seen} ${others}module${seen > 1 ? 's' : ''}\n`);
}
