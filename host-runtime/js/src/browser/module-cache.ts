/** Caches rewritten modules for later pages of this origin. */

import type { Rewriting } from '../common/hook/rewriter.js';

const NAME = 'kperf-wasm';
const STORE = 'modules';
/** The most modules that are kept; the oldest are removed. */
const MOST = 32;

interface Kept {
    key: string;
    rewriting: Rewriting;
    since: number;
}

let database: Promise<IDBDatabase> | undefined;

function settled<Result>(request: IDBRequest<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
        request.onsuccess = () => resolve(request.result);
        request.onerror = () => reject(request.error ?? new Error('IndexedDB'));
    });
}

function store(mode: IDBTransactionMode): Promise<IDBObjectStore> {
    database ??= new Promise((resolve, reject) => {
        const request = indexedDB.open(NAME, 1);
        request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: 'key' }).createIndex('since', 'since');
        request.onblocked = () => reject(new Error('IndexedDB'));
        settled(request).then(resolve, reject);
    });
    return database.then((database) => database.transaction(STORE, mode).objectStore(STORE));
}

/** The result of rewriting a module earlier, if there is one. */
export async function keptModule(key: string): Promise<{ rewriting: Rewriting } | undefined> {
    try {
        return await settled((await store('readonly')).get(key) as IDBRequest<Kept | undefined>);
    } catch {
        return undefined;
    }
}

/** Keeps the result of rewriting a module. */
export async function keepModule(key: string, rewriting: Rewriting): Promise<void> {
    try {
        const modules = await store('readwrite');
        const kept: Kept = { key, rewriting, since: Date.now() };
        await settled(modules.put(kept));
        const surplus = (await settled(modules.count())) - MOST;
        if (surplus <= 0) return;
        for (const old of await settled(modules.index('since').getAllKeys(null, surplus))) modules.delete(old);
    } catch {
        // A page without storage rewrites its modules each time.
    }
}
