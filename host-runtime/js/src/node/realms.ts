/** Brings `register` to what a program starts: worker threads, contexts of `vm`, processes. */

import childProcess, { type ForkOptions, type SpawnOptions } from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import vm, { type Context, type CreateContextOptions, type RunningScriptInNewContextOptions } from 'node:vm';
import threads, { type WorkerOptions } from 'node:worker_threads';
import { warn } from './warn.js';

const REGISTER = new URL('./register.js', import.meta.url).href;
const IMPORT = ['--import', REGISTER];

/** The folder in which flags name us. */
const HERE = process.cwd();

/** Whether a flag's value is `register`, by a name that is only valid in that folder. */
function isOurs(specifier: string | undefined): boolean {
    if (specifier === 'kperf-wasm/register') return true;
    return specifier?.startsWith('.') === true && new URL(specifier, `${pathToFileURL(HERE).href}/`).href === REGISTER;
}

/** Flags with our URL instead of our name, which a process or thread that starts in another folder doesn't find. */
function resolved(flags: readonly string[]): string[] {
    return flags.map((flag, n) => {
        if (flags[n - 1] === '--import' && isOurs(flag)) return REGISTER;
        return flag.startsWith('--import=') && isOurs(flag.slice('--import='.length)) ? `--import=${REGISTER}` : flag;
    });
}

function resolveFlags(): void {
    process.execArgv = resolved(process.execArgv);
    const { NODE_OPTIONS } = process.env;
    if (NODE_OPTIONS) process.env['NODE_OPTIONS'] = resolved(NODE_OPTIONS.split(' ')).join(' ');
}

/** Wraps the functions that start them. Calls `begin` before a thread starts, and `hook` with the `WebAssembly` of each context. */
export function reachRealms(begin: () => void, hook: (realm: typeof WebAssembly) => void): void {
    resolveFlags();
    reachThreads(begin);
    reachContexts(hook);
    reachProcesses();
    syncBuiltinESMExports();
}

/** A thread has `register` whatever its flags and environment are, and joins the recording that exists when it starts. */
function reachThreads(begin: () => void): void {
    threads.Worker = new Proxy(threads.Worker, {
        construct(target, [file, options, ...rest]: [string | URL, WorkerOptions?], newTarget) {
            begin();
            const start = (options: WorkerOptions | undefined): object => Reflect.construct(target, [file, reachable(options), ...rest], newTarget) as object;
            const flags = options?.eval ? flagsOfText(options) : [];
            // Node refuses `execArgv` that isn't an array.
            if (options?.execArgv) return start(Array.isArray(options.execArgv) ? changed(options, { execArgv: [...options.execArgv, ...flags] }) : options);
            // In another working directory it doesn't find us by the process's flags.
            if (flags.length === 0 && process.cwd() === HERE) return start(options);
            return withFlags([...process.execArgv, ...flags], flags, (execArgv) => start(changed(options, { execArgv })));
        },
    });
}

/** Options with some replaced. Keeps those of a prototype. */
function changed(options: WorkerOptions | undefined, others: WorkerOptions): WorkerOptions {
    return Object.assign(Object.create(options ?? null) as WorkerOptions, others);
}

/** Starts a thread without the flags that only processes may have. It keeps the `needed` ones. */
function withFlags(flags: string[], needed: string[], start: (flags: string[]) => object): object {
    try {
        return start(flags);
    } catch (error) {
        const { code, message } = error as NodeJS.ErrnoException;
        if (code !== 'ERR_WORKER_INVALID_EXEC_ARGV') throw error;
        const refused = new Set(message.slice(message.indexOf(': ') + 2).split(', '));
        const others = flags.filter((flag) => !refused.has(flag));
        return others.length < flags.length ? withFlags(others, needed, start) : start(needed);
    }
}

const NO_REQUIRE = '--no-experimental-require-module';

/** The flags that load `register` in a thread with `eval: true`, which ignores `--import`. */
function flagsOfText({ execArgv, env }: WorkerOptions): string[] {
    const own = [...(Array.isArray(execArgv) ? execArgv : process.execArgv), (typeof env === 'object' && env['NODE_OPTIONS']) || ''];
    if ((process.features as { require_module?: boolean }).require_module && !own.some((flag) => flag.includes(NO_REQUIRE))) return ['--require', fileURLToPath(REGISTER)];
    warn('worker threads with `eval: true` are not recorded: that needs Node.js 20.19 or 22.12, and `require` of modules');
    return [];
}

/** Adds `--import`; a second one of the same module does nothing. */
function reachable(options: WorkerOptions | undefined): WorkerOptions | undefined {
    if (Array.isArray(options?.execArgv)) return changed(options, { execArgv: [...options.execArgv, ...IMPORT] });
    const { NODE_OPTIONS } = process.env;
    const env = options?.env;
    // It inherits the process's flags, but not `NODE_OPTIONS` if it has an environment of its own.
    if (!NODE_OPTIONS || typeof env !== 'object' || env['NODE_OPTIONS'] !== undefined) return options;
    return changed(options, { env: { ...env, NODE_OPTIONS: IMPORT.join(' ') } });
}

/** Runs in a context after `hook`: promises, and objects with module and instance, become the context's own, as the engine's are. */
const OWN_RESULTS = `(realm) => {
    for (const name of ['compile', 'compileStreaming', 'instantiate', 'instantiateStreaming']) {
        const original = Object.getOwnPropertyDescriptor(realm, name);
        if (!original) continue;
        const made = { async [name](...parameters) {
            const result = await original.value.apply(this, parameters);
            return Object.prototype.toString.call(result) === '[object Object]' ? { ...result } : result;
        } }[name];
        Object.defineProperty(made, 'length', { value: original.value.length });
        Object.defineProperty(realm, name, { ...original, value: made });
    }
}`;

/** Each context has its own `WebAssembly`. */
function reachContexts(hook: (realm: typeof WebAssembly) => void): void {
    const { createContext, runInContext, runInNewContext, Script } = vm;
    const known = new WeakSet<object>();
    const reached = <Made extends Context>(context: Made, options?: CreateContextOptions): Made => {
        const realm = runInContext('typeof WebAssembly === "object" ? WebAssembly : undefined', context) as typeof WebAssembly | undefined;
        if (!realm || known.has(realm)) return context;
        known.add(realm);
        hook(realm);
        // A context with its own microtask queue would wait for itself.
        if (realm !== WebAssembly && options?.microtaskMode === undefined) (runInContext(OWN_RESULTS, context) as (realm: typeof WebAssembly) => void)(realm);
        return context;
    };
    vm.createContext = (...parameters) => reached(createContext(...parameters), parameters[1]);
    /** Makes an object a context before node does. */
    const made = (object: Context | number | undefined, options: string | RunningScriptInNewContextOptions | undefined): Context => {
        if (typeof object === 'object' && vm.isContext(object)) return object;
        const { contextName, contextOrigin, contextCodeGeneration, microtaskMode } = typeof options === 'object' ? options : {};
        const given = { name: contextName, origin: contextOrigin, codeGeneration: contextCodeGeneration, microtaskMode };
        const settings: CreateContextOptions = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
        // It may be `vm.constants.DONT_CONTEXTIFY`.
        return reached(createContext(object as Context, settings), settings);
    };
    vm.runInNewContext = (code, object, options) => runInNewContext(code, made(object, options), options);
    const run = Script.prototype.runInNewContext;
    Script.prototype.runInNewContext = function (object, options) {
        return run.call(this, made(object, options), options) as unknown;
    };
}

/** With this flag there is no `WebAssembly`. */
const JITLESS = '--jitless';

type Arguments = readonly unknown[];

/** Processes of this node have `register`, too: forked ones with flags of their own, and those that are started by its path. */
function reachProcesses(): void {
    const { fork } = childProcess;
    childProcess.fork = ((file: string | URL, ...rest: [(readonly string[] | ForkOptions)?, ForkOptions?]) => {
        const options = rest.find((given) => typeof given === 'object' && given !== null && !Array.isArray(given)) as ForkOptions | undefined;
        if (!options?.execArgv || options.execArgv.includes(JITLESS)) return fork(file, ...(rest as [readonly string[], ForkOptions]));
        const others = rest.filter((given) => given !== options) as [readonly string[]];
        return fork(file, ...others, { ...options, execArgv: [...options.execArgv, ...IMPORT] });
    }) as typeof fork;
    const functions = childProcess as unknown as Record<string, (...given: Arguments) => unknown>;
    for (const name of ['spawn', 'spawnSync', 'execFile', 'execFileSync']) functions[name] = startingWith(functions[name]!);
}

/** A function that starts a process, with our flag for those of this node. */
function startingWith(start: (...given: Arguments) => unknown): (...given: Arguments) => unknown {
    const made = (...given: Arguments): unknown => start(...withImport(given));
    for (const name of Reflect.ownKeys(start)) {
        const property = Object.getOwnPropertyDescriptor(start, name)!;
        // What `promisify` makes calls the original.
        if (name === promisify.custom) property.value = startingWith(property.value as typeof start);
        if (name !== 'prototype') Object.defineProperty(made, name, property);
    }
    return made;
}

/** The arguments of a start: the file, its arguments and options, both optional. */
function withImport(given: Arguments): Arguments {
    const [file, second] = given;
    const flags: readonly unknown[] = Array.isArray(second) ? second : [];
    const options = given.slice(1).find((value) => typeof value === 'object' && value !== null && !Array.isArray(value)) as SpawnOptions | undefined;
    // A shell would read our flag. A process has `register` already if the environment says so.
    if (file !== process.execPath || options?.shell || flags.includes(JITLESS) || hasImport((options?.env ?? process.env)['NODE_OPTIONS'] ?? '') || flags.some(hasImport)) return given;
    // Arguments that are missing may also be null.
    const rest = given.slice(Array.isArray(second) || second === undefined || second === null ? 2 : 1);
    return [file, [...IMPORT, ...flags], ...rest];
}

function hasImport(flag: unknown): boolean {
    return typeof flag === 'string' && flag.includes(REGISTER);
}
