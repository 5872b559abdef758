/** Puts probes into modules when a program loads them. */

import { SYMBOLS_SECTION } from '../constants.js';
import { headersOf, symbolsOf, type ModuleHeaders } from './module-headers.js';
import { reasonOf } from '../warn.js';
import type { RewriteOptions, Rewriting } from './rewriter.js';

/** The host's part. */
export interface LoadingHost {
    options: RewriteOptions;
    /** The rewriter's version. */
    readonly version: string;
    /** The first of `count` ids that no other module of the recording has. The same key gets the same ids. */
    ids(key: string, count: number): number;
    /** A hash in hexadecimal digits. */
    hash(bytes: Uint8Array): string;
    /** The same or a better one, asynchronously. */
    hashLater?(bytes: Uint8Array): Promise<string>;
    /** Modules of at most this many bytes are rewritten in this thread even if the program doesn't wait. */
    readonly small: number;
    /** The kept result for a key. */
    known(key: string): { rewriting: Rewriting } | undefined;
    keep(key: string, rewriting: Rewriting): void;
    rewriteNow(wasm: Uint8Array, options: RewriteOptions): Rewriting;
    /** Rewrites in another thread. */
    rewriteElsewhere(wasm: Uint8Array, options: RewriteOptions, key: string): Promise<Rewriting>;
    /** Whether the host itself loads this module, not the program. */
    isOwn(): boolean;
    /** Warns the user, once per line. */
    warn(line: string): void;
    /** Called with the symbol table of each module that got probes. */
    probed?(symbols: Uint8Array): void;
}

/** A module that got probes. */
export interface Loaded {
    wasm: Uint8Array<ArrayBuffer>;
    /** The original's custom sections. */
    sections: Map<string, Uint8Array<ArrayBuffer>[]>;
}

export class Loading {
    /** The number of modules with functions, and of those in which the filters select any. */
    seen = 0;
    selected = 0;
    readonly #host: LoadingHost;

    constructor(host: LoadingHost) {
        this.#host = host;
    }

    /** The module with probes; `undefined` if it stays as it is. `name` is for messages, `overrides` are options for this module. */
    now(wasm: Uint8Array, name?: string, overrides: RewriteOptions = {}): Loaded | undefined {
        try {
            const headers = this.#headers(wasm);
            if (!headers) return undefined;
            const task = this.#task(wasm, headers, this.#host.hash(wasm), name, overrides);
            return this.#done(task, task.known ?? this.#attempt(task, wasm));
        } catch (error) {
            return this.#failed(name, error);
        }
    }

    /** The same, asynchronously. The bytes must not change meanwhile. */
    async later(wasm: Uint8Array, name?: string): Promise<Loaded | undefined> {
        const host = this.#host;
        try {
            const headers = this.#headers(wasm);
            if (!headers) return undefined;
            const hash = host.hashLater ? await host.hashLater(wasm) : host.hash(wasm);
            const task = this.#task(wasm, headers, hash, name);
            if (task.known || wasm.length <= host.small) return this.#done(task, task.known ?? this.#attempt(task, wasm));
            const rewriting = await host.rewriteElsewhere(wasm, task.options, task.key).catch(reasonOf);
            if (typeof rewriting !== 'string') host.keep(task.key, rewriting);
            return this.#done(task, { rewriting });
        } catch (error) {
            return this.#failed(name, error);
        }
    }

    /** Warns that the engine refuses a module with probes, although it takes the original. */
    refused(name: string | undefined, error: unknown): void {
        this.#host.warn(`${name ?? 'a module'} runs without probes, which the engine refuses: ${String(error)}`);
    }

    #failed(name: string | undefined, error: unknown): undefined {
        this.#host.warn(`${name ?? 'a module'} runs without probes: ${reasonOf(error)}`);
    }

    /** The headers of a module that gets probes. */
    #headers(wasm: Uint8Array): ModuleHeaders | undefined {
        const headers = headersOf(wasm);
        // Modules without functions are glue. Modules with probes are recorded as they are.
        if (!headers?.functions || headers.custom.some(({ name }) => name === SYMBOLS_SECTION)) return undefined;
        if (this.#host.isOwn()) return undefined;
        this.seen++;
        return headers;
    }

    #task(wasm: Uint8Array, headers: ModuleHeaders, hash: string, name: string | undefined, overrides: RewriteOptions = {}): Task {
        const host = this.#host;
        const count = headers.functions + (host.options.imports ? headers.imports : 0);
        const named: RewriteOptions = { ...host.options, ...overrides, module_name: name ?? `wasm-${hash.slice(0, 8)}` };
        const keyOf = (options: RewriteOptions): string => host.hash(new TextEncoder().encode(`${host.version} ${hash} ${JSON.stringify(options)}`));
        // A module with two names has two symbol tables with different ids.
        const options: RewriteOptions = { ...named, id_base: host.ids(keyOf(named), count) };
        const key = keyOf(options);
        return { wasm, headers, options, key, known: host.known(key) };
    }

    #attempt({ key, options }: Task, wasm: Uint8Array): { rewriting: Rewriting } {
        try {
            const rewriting = this.#host.rewriteNow(wasm, options);
            this.#host.keep(key, rewriting);
            return { rewriting };
        } catch (error) {
            return { rewriting: reasonOf(error) };
        }
    }

    #done({ wasm, headers, options }: Task, { rewriting }: { rewriting: Rewriting }): Loaded | undefined {
        if (rewriting !== undefined) this.selected++;
        if (typeof rewriting === 'string') this.#host.warn(`${options.module_name} runs without probes: ${rewriting}`);
        if (typeof rewriting !== 'object') return undefined;
        const symbols = this.#host.probed && symbolsOf(rewriting);
        if (symbols) this.#host.probed?.(symbols);
        const sections: Loaded['sections'] = new Map();
        for (const { name, start, end } of headers.custom) sections.set(name, [...(sections.get(name) ?? []), wasm.slice(start, end)]);
        return { wasm: rewriting, sections };
    }
}

interface Task {
    wasm: Uint8Array;
    headers: ModuleHeaders;
    options: RewriteOptions;
    key: string;
    known: { rewriting: Rewriting } | undefined;
}
