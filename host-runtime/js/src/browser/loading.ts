/** Probes for the modules that a page loads. */

import { hasMultiMemory } from '../common/recorder/lane.js';
import { Loading, type LoadingHost } from '../common/hook/loading.js';
import type { ModuleIds } from '../common/hook/module-ids.js';
import type { RewriteOptions, Rewriting } from '../common/hook/rewriter.js';
import { script } from './core.js';
import { isIsolated } from './isolation.js';
import { keepModule, keptModule } from './module-cache.js';
import { warn } from './warn.js';
import { REWRITER_VERSION } from '../common/hook/version-source.js';
import type { RewriterAnswer, RewriterData } from './rewriter-thread.js';
import { rewriteThere, rewriteThereNow } from './server.js';
import { refusalOf, startOwn } from './workers.js';

/** Settings of loading: see `PageConfig`. */
export interface PageLoading extends Pick<RewriteOptions, 'only' | 'skip' | 'match' | 'imports'> {
    probe?: 'auto' | 'import' | 'inline';
    record?: 'trace' | 'profile';
    clock?: string;
    sampling?: { spanMin?: string };
    rewriter?: string;
    server?: string;
}

/** Adds probes to the modules that this page, or worker, loads. */
export function loadingOf(config: PageLoading, list: () => ModuleIds): Loading {
    const { only, skip, match, imports, server } = config;
    const isProfile = config.record === 'profile';
    const profile = config.sampling?.spanMin === 'off' ? 'profile-without-spans' : 'profile';
    // Without a ticker an inlined recorder gains nothing.
    const trace = config.probe === 'auto' && !(hasMultiMemory && isIsolated()) ? 'import' : config.probe!;
    let ids: ModuleIds | undefined;
    const host: LoadingHost = {
        options: { only: only ?? [], skip: skip ?? [], match: match ?? 'auto', imports: imports ?? false, probe: isProfile ? profile : trace, clock: config.clock === 'instructions' ? 'instructions' : 'host' },
        // `rewriteElsewhere` adds it to the keys of modules.
        version: '',
        ids: (key, count) => (ids ??= list()).of(key, count),
        hash: quickHash,
        hashLater: async (bytes) => (globalThis.crypto?.subtle ? digits(await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>)) : quickHash(bytes)),
        small: 0,
        known: () => undefined,
        keep: () => undefined,
        rewriteNow(wasm, options) {
            if (server !== undefined) return rewriteThereNow(server, wasm, options);
            throw new Error('the page compiles it synchronously (new WebAssembly.Module): use WebAssembly.compile');
        },
        rewriteElsewhere: (wasm, options, key) => (server === undefined ? rewriteElsewhere(config.rewriter, wasm, options, key) : rewriteThere(server, wasm, options)),
        isOwn: () => false,
        warn,
    };
    return new Loading(host);
}

async function rewriteElsewhere(url: string | undefined, wasm: Uint8Array, options: RewriteOptions, key: string): Promise<Rewriting> {
    // The key has the rewriter's version, so the rewriter needn't be loaded first.
    const name = `${REWRITER_VERSION} ${key}`;
    const kept = await keptModule(name);
    if (kept) return kept.rewriting;
    // Bundlers recognise this expression and include the file.
    const rewriter = url === undefined ? (script ? new URL('rewriter.wasm', script) : new URL('../rewriter.wasm', import.meta.url)) : new URL(url, globalThis.document?.baseURI ?? location.href);
    const { rewriting, isOurs, failure } = await inWorker({ rewriter: rewriter.href, version: REWRITER_VERSION, wasm, options });
    if (failure !== undefined) throw new Error(failure);
    if (isOurs) void keepModule(name, rewriting);
    return rewriting;
}

function inWorker(data: RewriterData): Promise<RewriterAnswer> {
    return new Promise((resolve, reject) => {
        let worker: Worker;
        try {
            worker = startOwn('rewriter');
        } catch (error) {
            return reject(new Error(refusalOf(error)));
        }
        worker.onmessage = ({ data }: MessageEvent<RewriterAnswer>) => {
            worker.terminate();
            resolve(data);
        };
        worker.onerror = ({ message }) => {
            worker.terminate();
            reject(new Error(message || refusalOf()));
        };
        worker.postMessage(data);
    });
}

function digits(hash: ArrayBuffer): string {
    return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** A hash that isn't safe against attackers: two of 32 bits, in both directions. */
function quickHash(bytes: Uint8Array): string {
    let [a, b] = [0x811c9dc5, bytes.length];
    for (let at = 0; at < bytes.length; at++) {
        a = Math.imul(a ^ bytes[at]!, 0x01000193);
        b = Math.imul(b ^ bytes[bytes.length - 1 - at]!, 0x85ebca6b) + 1;
    }
    return [a, b].map((word) => (word >>> 0).toString(16).padStart(8, '0')).join('').repeat(4);
}
