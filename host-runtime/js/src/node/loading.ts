/** Puts probes into the modules that a program loads, in node. */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads';
import { compileSlowly, OwnWorker } from './engine.js';
import { Loading, type LoadingHost, type Source } from '../common/hook/loading.js';
import { symbolsOf } from '../common/hook/module-headers.js';
import { ModuleIds } from '../common/hook/module-ids.js';
import { rewrite, rewritingOf, type RewriteOptions, type Rewriting, type Rewritten } from '../common/hook/rewriter.js';
import { MissingAllocators } from '../common/trace/symbols.js';
import { ModuleCache } from './module-cache.js';
import { RecentModules } from './recent-modules.js';
import { REWRITER_VERSION } from '../common/hook/version-source.js';
import type { RewriterData } from './rewriter-thread.js';
import { warn } from './warn.js';
import { warningsOf, withWarnings } from './warnings-section.js';

const require = createRequire(import.meta.url);
/** The folder of our own files. */
const PACKAGE = new URL('..', import.meta.url).href;
const FILE = new URL('../rewriter.wasm', import.meta.url);
const SHARED = 'kperf-wasm-ids';

export interface LoadingSettings {
    options: RewriteOptions;
    /** The folder for rewritten modules; `undefined`: none are kept. */
    cache: string | undefined;
}

/** Rewriting larger modules takes more than some 50 ms. */
const SMALL = 1 << 20;

let compiled: WebAssembly.Module | undefined;

/** The rewriter, read and compiled at the first call. */
export function rewriterModule(): WebAssembly.Module {
    return (compiled ??= compileSlowly(readFileSync(FILE)));
}

/** An empty module. */
const EMPTY = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0);

/** Throws if `allocator` has an unknown role. Loads nothing if it is empty. */
export function checkOptions(options: RewriteOptions): void {
    if (!options.allocator?.length) return;
    // Wrong patterns are reported for each module.
    const { refusal } = rewrite(rewriterModule(), EMPTY, { ...options, only: [], skip: [] });
    if (refusal === undefined) return;
    throw new TypeError((refusal.startsWith('the allocator') ? 'KPERF_ALLOCATOR: ' : '') + refusal);
}

/** Named allocator functions that no module of this thread has. */
export const missingAllocators = new MissingAllocators();

/** Puts probes into the modules that this thread loads. Calls `begins` when it begins to load one, and `unrecorded` if that stays without probes. */
export function loadingOf({ options, cache }: LoadingSettings, begins: () => void, unrecorded: (line: string) => void): Loading {
    const folder = cache === undefined ? undefined : new ModuleCache(cache);
    const recent = new RecentModules();
    const ids = idsOfProcess();
    const { allocator } = options;
    const host: LoadingHost = {
        options,
        version: REWRITER_VERSION,
        ids: (key, count) => ids.of(key, count),
        hash,
        small: SMALL,
        known(key) {
            const known = recent.get(key);
            if (known) return known;
            const found = folder?.get(key);
            if (found) recent.put(key, found.rewriting);
            return found;
        },
        keep(key, rewriting) {
            recent.put(key, rewriting);
            folder?.put(key, rewriting);
        },
        rewriteNow: (wasm, options) => named(checked(rewrite(rewriterModule(), wasm, options), options), options),
        rewriteElsewhere,
        isOwn: isNodes,
        share,
        shared: (idBase) => sharedSources().find(({ options }) => options.id_base === idBase),
        begins,
        warn: unrecorded,
        probed(wasm, name) {
            for (const warning of warningsOf(wasm)) warn(`${name}: ${warning}`);
            const symbols = allocator?.length ? symbolsOf(wasm) : undefined;
            if (symbols) missingAllocators.add(symbols);
        },
    };
    return new Loading(host);
}

function hash(bytes: Uint8Array): string {
    // Loaded at the first module, since it takes some milliseconds.
    const { createHash } = require('node:crypto') as typeof import('node:crypto');
    return createHash('sha256').update(bytes).digest('hex');
}

/** Whether node itself loads a module: `fetch`, for instance, parses HTTP with one. */
function isNodes(): boolean {
    const frames = stackOf().split('\n').slice(1);
    return frames.find((frame) => !frame.includes(PACKAGE))?.includes('node:internal/deps/') ?? false;
}

/** This call's stack as the engine prints it. Sets aside, and restores, the program's settings of `Error`. */
function stackOf(): string {
    const ours = { stackTraceLimit: 20, prepareStackTrace: undefined };
    const before = Object.keys(ours).map((name) => [name, Object.getOwnPropertyDescriptor(Error, name)] as const);
    // A frozen `Error` refuses.
    for (const [name, value] of Object.entries(ours)) Reflect.defineProperty(Error, name, { value, writable: true, enumerable: true, configurable: true });
    try {
        return String(new Error().stack);
    } catch {
        return '';
    } finally {
        for (const [name, descriptor] of before) {
            if (descriptor) Reflect.defineProperty(Error, name, descriptor);
            else Reflect.deleteProperty(Error, name);
        }
    }
}

const SOURCES = 'kperf-wasm-sources';
/** So many modules, and bytes of them, are kept for threads that start later. */
const MAX_SOURCES = 32, MAX_SOURCE_BYTES = 16 << 20;

/** The sources of modules that this thread, and those that started it, have rewritten. */
function sharedSources(): readonly Source[] {
    return (getEnvironmentData(SOURCES) as unknown as Source[] | undefined) ?? [];
}

/** Keeps a source for threads that start later and get the module from this one. */
function share(source: Source): void {
    const known = sharedSources();
    const bytes = known.reduce((sum, { wasm }) => sum + wasm.length, source.wasm.length);
    if (known.length >= MAX_SOURCES || bytes > MAX_SOURCE_BYTES || known.some(({ options }) => options.id_base === source.options.id_base)) return;
    const wasm = new Uint8Array(new SharedArrayBuffer(source.wasm.length));
    wasm.set(source.wasm);
    source.wasm = wasm;
    setEnvironmentData(SOURCES, [...known, { ...source }] as unknown as Parameters<typeof setEnvironmentData>[1]);
}

let idsHere: ModuleIds | undefined;

/** Worker threads share the list of the thread that started them. */
function idsOfProcess(): ModuleIds {
    if (idsHere) return idsHere;
    const known = isMainThread ? undefined : (getEnvironmentData(SHARED) as unknown as SharedArrayBuffer | undefined);
    const ids = (idsHere = new ModuleIds(known));
    if (!known) setEnvironmentData(SHARED, ids.buffer as unknown as Parameters<typeof setEnvironmentData>[1]);
    return ids;
}

/** Warns of functions in `KPERF_ALLOCATOR` that a module has with another type. Cached modules were checked when they were rewritten. */
function checked(done: Rewritten, { module_name }: RewriteOptions): Rewriting {
    const warnings = done.summary?.warnings ?? [];
    for (const warning of warnings) if (warning.includes('` is no allocator here: ')) warn(`${module_name ?? 'a module'}: KPERF_ALLOCATOR: ${warning}`);
    const rewriting = rewritingOf(done);
    return typeof rewriting === 'object' ? withWarnings(rewriting, warnings) : rewriting;
}

/** Adds the variable to the refusal of a pattern, and makes it one line. */
function named(rewriting: Rewriting, { only, skip }: RewriteOptions): Rewriting {
    const [, pattern, reason] = (typeof rewriting === 'string' && /^bad pattern `(.*?)`: (.*)$/s.exec(rewriting)) || [];
    if (pattern === undefined || reason === undefined) return rewriting;
    const names = [...(only?.includes(pattern) ? ['KPERF_ONLY'] : []), ...(skip?.includes(pattern) ? ['KPERF_SKIP'] : [])];
    // A regex's error begins with lines that show the place.
    const last = reason.split('\n').at(-1)!.replace(/^error: /, '');
    return `${names.join(', ')}: bad pattern \`${pattern}\`: ${last}`;
}

async function rewriteElsewhere(wasm: Uint8Array, options: RewriteOptions): Promise<Rewriting> {
    return named(checked(await rewriteInThread(wasm, options), options), options);
}

/** Puts probes into a module in a thread of its own. */
export function rewriteInThread(wasm: Uint8Array, options: RewriteOptions): Promise<Rewritten> {
    const data: RewriterData = { kperf: 'rewriter', rewriter: rewriterModule(), wasm, options };
    return askThread('rewriter-thread.js', data);
}

/** The message of one of our threads, which gets `data`. `file` is in the folder of this one. */
export function askThread<Answer>(file: string, data: { kperf: string }): Promise<Answer> {
    const thread = new OwnWorker(new URL(file, import.meta.url), { workerData: data, execArgv: ['--no-warnings'], stdin: false });
    return new Promise((resolve, reject) => {
        thread.on('message', resolve);
        thread.on('error', reject);
        thread.on('exit', () => reject(new Error(`a thread has ended (${data.kperf})`)));
    });
}
