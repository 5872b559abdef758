/** Puts probes into modules when a program loads them. */

import { SYMBOLS_SECTION } from '../constants.js';
import { headersOf, type ModuleHeaders } from './module-headers.js';
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
    /** Called when the program begins to load a module. */
    begins?(): void;
    /** Warns the user, once per line. */
    warn(line: string): void;
    /** Keeps a source for threads that get the module from this one; and finds the source of such a module, by its first id. */
    share?(source: Source): void;
    shared?(idBase: number): Source | undefined;
    /** Called with each module that got probes. */
    probed?(wasm: Uint8Array, name: string | undefined): void;
}

/** A module that got probes. */
export interface Loaded {
    wasm: Uint8Array<ArrayBuffer>;
    /** The original's custom sections. */
    sections: Map<string, Uint8Array<ArrayBuffer>[]>;
    /** Set if it may have a twin with imported probes (twins.ts). */
    source?: Source | undefined;
}

/** An original, and how it was rewritten. */
export interface Source {
    wasm: Uint8Array;
    options: RewriteOptions;
}

/** Originals of at most this many bytes are kept. The memory of larger modules' instances is larger than a recorder's. */
const MAX_SOURCE = 4 << 20;

export class Loading {
    /** The number of modules with functions that may have probes, and of those in which the filters select any. */
    seen = 0;
    selected = 0;
    /** Whether modules get imported probes if they may have either: after many instances. */
    prefersImports = false;
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
            const loaded = this.#done(task, task.known ?? this.#attempt(task, wasm));
            // The program may change its bytes.
            if (loaded?.source) loaded.source.wasm = wasm.slice();
            return this.#shared(loaded);
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
            if (task.known || wasm.length <= host.small) return this.#shared(this.#done(task, task.known ?? this.#attempt(task, wasm)));
            let isFailed = false;
            const elsewhere = (options: RewriteOptions, key: string): Promise<Rewriting> =>
                host.rewriteElsewhere(wasm, options, key).catch((error: unknown) => ((isFailed = true), reasonOf(error)));
            let rewriting = await elsewhere(task.options, task.key);
            const other = typeof rewriting === 'string' && instead(task.options);
            if (other) rewriting = orRefusal(await elsewhere(other, this.#keyOf(hash, other)), rewriting);
            // A refusal is kept, but not that its thread failed.
            if (!isFailed) host.keep(task.key, rewriting);
            return this.#shared(this.#done(task, { rewriting }));
        } catch (error) {
            return this.#failed(name, error);
        }
    }

    /** The source of a module that another thread has rewritten. */
    sourceOf(idBase: number): Source | undefined {
        return this.#host.shared?.(idBase);
    }

    #shared(loaded: Loaded | undefined): Loaded | undefined {
        if (loaded?.source) this.#host.share?.(loaded.source);
        return loaded;
    }

    /** A module with imported probes and the same ids; `undefined` if there is none. */
    importedNow(source: Source): Uint8Array<ArrayBuffer> | undefined {
        const { wasm, ...task } = this.#imported(source);
        const { rewriting } = this.#host.known(task.key) ?? this.#attempt(task, wasm);
        return typeof rewriting === 'object' ? rewriting : undefined;
    }

    /** The same in another thread; `undefined` at once if the module is small, so that this thread had better do it. */
    importedElsewhere(source: Source): Promise<Uint8Array<ArrayBuffer> | undefined> | undefined {
        const host = this.#host;
        if (source.wasm.length <= host.small) return undefined;
        const { wasm, options, key } = this.#imported(source);
        const known = host.known(key)?.rewriting;
        const rewritten = known ? Promise.resolve(known) : host.rewriteElsewhere(wasm, options, key);
        return rewritten.then((rewriting) => (typeof rewriting === 'object' ? rewriting : undefined));
    }

    #imported({ wasm: kept, options: inlined }: Source): { wasm: Uint8Array; options: RewriteOptions; key: string } {
        // Not shared memory, which engines' functions refuse.
        const wasm = kept.slice();
        const options: RewriteOptions = { ...inlined, probe: 'import' };
        return { wasm, options, key: this.#keyOf(this.#host.hash(wasm), options) };
    }

    #keyOf(hash: string, options: RewriteOptions): string {
        return this.#host.hash(new TextEncoder().encode(`${this.#host.version} ${hash} ${JSON.stringify(options)}`));
    }

    /** Warns that the engine refuses a module with probes, although it takes the original. */
    refused(name: string | undefined, error: unknown): void {
        this.#failed(name, `the engine refuses them: ${String(error)}`);
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
        this.#host.begins?.();
        return headers;
    }

    #task(wasm: Uint8Array, headers: ModuleHeaders, hash: string, name: string | undefined, overrides: RewriteOptions = {}): Task {
        const host = this.#host;
        const count = headers.functions + (host.options.imports ? headers.imports : 0);
        const { probe, ...named }: RewriteOptions = { ...host.options, ...overrides, module_name: name ?? `wasm-${hash.slice(0, 8)}` };
        const mayImport = hasTwin({ probe, ...named });
        // A module with two names has two symbol tables with different ids; with two forms of probes it has one.
        const id_base = host.ids(this.#keyOf(hash, mayImport || probe === 'import' ? named : { probe, ...named }), count);
        const options: RewriteOptions = { ...named, probe: mayImport && this.prefersImports ? 'import' : probe!, id_base };
        const key = this.#keyOf(hash, options);
        return { wasm, headers, options, key, known: host.known(key) };
    }

    #attempt({ key, options }: Pick<Task, 'key' | 'options'>, wasm: Uint8Array): { rewriting: Rewriting } {
        try {
            let rewriting = this.#host.rewriteNow(wasm, options);
            const other = typeof rewriting === 'string' && instead(options);
            if (other) rewriting = orRefusal(this.#host.rewriteNow(wasm, other), rewriting);
            this.#host.keep(key, rewriting);
            return { rewriting };
        } catch (error) {
            return { rewriting: reasonOf(error) };
        }
    }

    #done({ wasm, headers, options }: Task, { rewriting }: { rewriting: Rewriting }): Loaded | undefined {
        if (typeof rewriting === 'string') return this.#failed(options.module_name, rewriting);
        this.seen++;
        if (!rewriting) return undefined;
        this.selected++;
        this.#host.probed?.(rewriting, options.module_name);
        const sections: Loaded['sections'] = new Map();
        for (const { name, start, end } of headers.custom) sections.set(name, [...(sections.get(name) ?? []), wasm.slice(start, end)]);
        const source = hasTwin(options) && wasm.length <= MAX_SOURCE ? { wasm, options } : undefined;
        return { wasm: rewriting, sections, source };
    }
}

/** Options for a module that can't have its own shadow stack: with imported probes it shares one. */
function instead(options: RewriteOptions): RewriteOptions | undefined {
    return options.probe?.startsWith('profile') ? { ...options, probe: 'import' } : undefined;
}

/** A second attempt; if that is refused, too, the first refusal. */
function orRefusal(second: Rewriting, first: Rewriting): Rewriting {
    return typeof second === 'object' ? second : first;
}

/** Whether the symbol table and the records of a module with these options are the same with imported probes. */
export function hasTwin({ probe, leaf, allocations }: RewriteOptions): boolean {
    return (probe === 'auto' || probe === 'profile' || probe === 'profile-without-spans') && leaf !== 'count' && allocations === undefined;
}

interface Task {
    wasm: Uint8Array;
    headers: ModuleHeaders;
    options: RewriteOptions;
    key: string;
    known: { rewriting: Rewriting } | undefined;
}
