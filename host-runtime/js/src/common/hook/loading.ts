/** Probes for modules when a program loads them. */

import { SYMBOLS_SECTION } from '../constants.js';
import { headersOf, type ModuleHeaders } from './module-headers.js';
import { reasonOf } from '../reason.js';
import type { RewriteOptions, Rewriting } from './rewriter.js';

/** What a host does for it. */
export interface LoadingHost {
    options: RewriteOptions;
    /** Which rewriter it is. */
    readonly version: string;
    /** The first of so many ids, of which no other module of the recording has any. The same key gets the same. */
    ids(key: string, count: number): number;
    /** A hash of bytes, in hexadecimal digits. */
    hash(bytes: Uint8Array): string;
    /** The same, or a better one, while the program goes on. */
    hashLater?(bytes: Uint8Array): Promise<string>;
    /** Modules of at most so many bytes are rewritten in this thread, though the program could go on. */
    readonly small: number;
    /** What `rewriteNow` answered for these options and bytes, in this process or another. */
    known(key: string): { rewriting: Rewriting } | undefined;
    keep(key: string, rewriting: Rewriting): void;
    rewriteNow(wasm: Uint8Array, options: RewriteOptions): Rewriting;
    /** The same, in another thread. */
    rewriteElsewhere(wasm: Uint8Array, options: RewriteOptions, key: string): Promise<Rewriting>;
    /** Whether the module that is being loaded belongs to the host itself, and not to the program. */
    isOwn(): boolean;
    /** Warns the user, once per line. */
    warn(line: string): void;
    /** Is told the symbol table of each module that got probes. */
    probed?(symbols: Uint8Array): void;
}

/** A module that is about to be compiled. */
export interface Loaded {
    /** With probes. */
    wasm: Uint8Array<ArrayBuffer>;
    /** Its custom sections, as they were. */
    sections: Map<string, Uint8Array<ArrayBuffer>[]>;
}

/** Puts probes into modules. */
export class Loading {
    /** How many modules with functions were loaded, and of how many of these some functions are meant. */
    seen = 0;
    meant = 0;
    readonly #host: LoadingHost;

    constructor(host: LoadingHost) {
        this.#host = host;
    }

    /** The module with probes; `undefined` if it is to stay as it is. Its name is for people; `otherwise` are options that differ here. */
    now(wasm: Uint8Array, name?: string, otherwise: RewriteOptions = {}): Loaded | undefined {
        try {
            const headers = this.#headers(wasm);
            if (!headers) return undefined;
            const task = this.#task(wasm, headers, this.#host.hash(wasm), name, otherwise);
            return this.#done(task, task.known ?? this.#attempt(task, wasm));
        } catch (error) {
            return this.#failed(name, error);
        }
    }

    /** The same, while the program goes on. The bytes must not change meanwhile. */
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

    /** The engine doesn't take what came of a module, which it takes as it was. */
    refused(name: string | undefined, error: unknown): void {
        this.#host.warn(`${name ?? 'a module'} runs without probes: the engine refuses it with them: ${String(error)}`);
    }

    #failed(name: string | undefined, error: unknown): undefined {
        this.#host.warn(`${name ?? 'a module'} runs without probes: ${reasonOf(error)}`);
    }

    /** The headers of a module that is to get probes. */
    #headers(wasm: Uint8Array): ModuleHeaders | undefined {
        const headers = headersOf(wasm);
        // Those without functions are a program's own glue. Those with probes are recorded as they are.
        if (!headers?.functions || headers.custom.some(({ name }) => name === SYMBOLS_SECTION)) return undefined;
        if (this.#host.isOwn()) return undefined;
        this.seen++;
        return headers;
    }

    #task(wasm: Uint8Array, headers: ModuleHeaders, hash: string, name: string | undefined, otherwise: RewriteOptions = {}): Task {
        const host = this.#host;
        const count = headers.functions + (host.options.imports ? headers.imports : 0);
        const named: RewriteOptions = { ...host.options, ...otherwise, module_name: name ?? `wasm-${hash.slice(0, 8)}` };
        const keyOf = (options: RewriteOptions): string => host.hash(new TextEncoder().encode(`${host.version} ${hash} ${JSON.stringify(options)}`));
        // A module under two names has two symbol tables, each with ids of its own.
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
        if (rewriting !== undefined) this.meant++;
        if (typeof rewriting === 'string') this.#host.warn(`${options.module_name} runs without probes: ${rewriting}`);
        if (typeof rewriting !== 'object') return undefined;
        const table = this.#host.probed && headersOf(rewriting)?.custom.find(({ name }) => name === SYMBOLS_SECTION);
        if (table) this.#host.probed?.(rewriting.subarray(table.start, table.end));
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
