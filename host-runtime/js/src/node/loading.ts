/** Probes for the modules that a program loads, in node. */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { getEnvironmentData, isMainThread, setEnvironmentData, Worker } from 'node:worker_threads';
import { engine } from '../common/engine.js';
import { Loading, type LoadingHost } from '../common/hook/loading.js';
import { rewrite, rewritingOf, type RewriteOptions, type Rewriting, type Rewritten } from '../common/hook/rewriter.js';
import { missingAllocators } from '../common/trace/symbols.js';
import { ModuleCache } from './module-cache.js';
import { ModuleIds } from './module-ids.js';
import { REWRITER_VERSION } from '../common/hook/version-source.js';
import type { RewriterData } from './rewriter-thread.js';
import { warn } from './warn.js';

/** As it was when this was loaded: `register` wraps it later. */
const OwnWorker = Worker;
const require = createRequire(import.meta.url);
/** Where our own files are. */
const PACKAGE = new URL('..', import.meta.url).href;
const FILE = new URL('../rewriter.wasm', import.meta.url);
const SHARED = 'kperf-wasm-ids';

/** What is said of loading. */
export interface LoadingSettings {
    options: RewriteOptions;
    /** The folder in which modules are kept; none: they aren't. */
    cache: string | undefined;
}

/** Larger ones take more than some 50 ms. */
const SMALL = 1 << 20;

let compiled: WebAssembly.Module | undefined;

/** The rewriter, read and compiled when it is first asked for. */
export function rewriterModule(): WebAssembly.Module {
    return (compiled ??= new engine.Module(readFileSync(FILE)));
}

/** An empty module. */
const EMPTY = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0);

/** Throws if a kind of allocator is unknown. Loads nothing where none is set. */
export function checkOptions(options: RewriteOptions): void {
    if (!options.allocator?.length) return;
    // What is wrong with a pattern is said of each module.
    const { refusal } = rewrite(rewriterModule(), EMPTY, { ...options, only: [], skip: [] });
    if (refusal === undefined) return;
    throw new TypeError((refusal.startsWith('the allocator') ? 'KPERF_ALLOCATOR: ' : '') + refusal);
}

/** A module got probes that record what is allocated. The other bits stand for functions of allocators. */
const RECORDS = 1 << 30;
const MOST_NAMED = 30;

/** Functions of allocators that were named, `malloc=my_alloc`, and that no module of any thread had; none if there was no such module. */
export function missing({ allocator }: RewriteOptions): string[] {
    const { found } = idsOfProcess();
    return found & RECORDS ? (allocator ?? []).slice(0, MOST_NAMED).filter((_, n) => !(found & (1 << n))) : [];
}

/** Puts probes into the modules that this thread loads. */
export function loadingOf({ options, cache }: LoadingSettings): Loading {
    const folder = cache === undefined ? undefined : new ModuleCache(cache);
    const ids = idsOfProcess();
    const { allocator } = options;
    const host: LoadingHost = {
        options,
        version: REWRITER_VERSION,
        ids: (key, count) => ids.of(key, count),
        hash,
        small: SMALL,
        known: (key) => folder?.get(key),
        keep: (key, rewriting) => folder?.put(key, rewriting),
        rewriteNow: (wasm, options) => named(checked(rewrite(rewriterModule(), wasm, options), options), options),
        rewriteElsewhere,
        isOwn: isNodes,
        warn,
        ...(allocator?.length && {
            probed(symbols) {
                const missing = missingAllocators(symbols);
                if (missing) ids.note(allocator.reduce((found, name, n) => (n < MOST_NAMED && !missing.includes(name) ? found | (1 << n) : found), RECORDS));
            },
        }),
    };
    return new Loading(host);
}

function hash(bytes: Uint8Array): string {
    // Not before a module comes: node takes some milliseconds to load it.
    const { createHash } = require('node:crypto') as typeof import('node:crypto');
    return createHash('sha256').update(bytes).digest('hex');
}

/** Whether node itself loads a module: `fetch` parses HTTP with one, for instance. */
function isNodes(): boolean {
    const frames = stackOf().split('\n').slice(1);
    return frames.find((frame) => !frame.includes(PACKAGE))?.includes('node:internal/deps/') ?? false;
}

/** This call's stack as the engine prints it, whatever the program has made of `Error`, which is as it was after that. */
function stackOf(): string {
    const ours = { stackTraceLimit: 20, prepareStackTrace: undefined };
    const before = Object.keys(ours).map((name) => [name, Object.getOwnPropertyDescriptor(Error, name)] as const);
    // (A frozen one refuses.)
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

let idsHere: ModuleIds | undefined;

/** Worker threads have the list of the thread that started them. */
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
    return rewritingOf(done);
}

/** A refusal of a pattern says whose it is, on one line. */
function named(rewriting: Rewriting, { only, skip }: RewriteOptions): Rewriting {
    const [, pattern, reason] = (typeof rewriting === 'string' && /^bad pattern `(.*?)`: (.*)$/s.exec(rewriting)) || [];
    if (pattern === undefined || reason === undefined) return rewriting;
    const names = [...(only?.includes(pattern) ? ['KPERF_ONLY'] : []), ...(skip?.includes(pattern) ? ['KPERF_SKIP'] : [])];
    // Of a regex it shows the place before it says what is wrong.
    const last = reason.split('\n').at(-1)!.replace(/^error: /, '');
    return `${names.join(', ')}: bad pattern \`${pattern}\`: ${last}`;
}

async function rewriteElsewhere(wasm: Uint8Array, options: RewriteOptions): Promise<Rewriting> {
    return named(checked(await rewriteInThread(wasm, options), options), options);
}

/** Puts probes into a module in a thread of its own. */
export function rewriteInThread(wasm: Uint8Array, options: RewriteOptions): Promise<Rewritten> {
    const data: RewriterData = { kperf: 'rewriter', rewriter: rewriterModule(), wasm, options };
    const thread = new OwnWorker(new URL('./rewriter-thread.js', import.meta.url), { workerData: data, execArgv: [], stdin: false });
    return new Promise((resolve, reject) => {
        thread.on('message', resolve);
        thread.on('error', reject);
        thread.on('exit', () => reject(new Error('the thread that rewrites it has ended')));
    });
}
