/** Rewrites the modules that pages send, each once. */

import { createHash } from 'node:crypto';
import { symbolsOf } from '../../common/hook/module-headers.js';
import { hasTwin } from '../../common/hook/loading.js';
import type { RewriteOptions, Rewritten } from '../../common/hook/rewriter.js';
import { MissingAllocators } from '../../common/trace/symbols.js';
import { printStatus } from '../cli-args.js';
import { rewriteInThread } from '../loading.js';

/** What a page wants: any form of probes, imported ones because it has many instances, or none with an inlined recorder, which it can't run. */
export const FORMS = ['any', 'import', 'alone'] as const;

/** A module that a page sends. */
export interface SentModule {
    /** The name of a module without one. */
    name: string;
    /** The first function id: the modules of a page share a trace. */
    idBase: number;
    form: (typeof FORMS)[number];
    wasm: Uint8Array;
}

/** Settings of rewriting. */
export interface ModuleSettings {
    options: RewriteOptions;
    /** Whether the recorder is inlined, if the page and the module allow it. */
    inline: boolean;
}

/** The maximum number of cached modules: enough for an app with its pages and workers. */
const MAX_CACHED = 16;

/** The most modules that are rewritten at once: each takes about six times its size of memory. */
const MAX_RUNNING = 2;

/** The modules of all pages. */
export class Modules {
    readonly #settings: ModuleSettings;
    /** By hash; the most recently used one is last. */
    readonly #known = new Map<string, Promise<Rewritten>>();
    readonly #missing = new MissingAllocators();
    #running = 0;
    readonly #waiting: (() => void)[] = [];

    constructor(settings: ModuleSettings) {
        this.#settings = settings;
    }

    /** Named allocator functions that no module has; none before the first module. */
    get missing(): string[] {
        return this.#missing.names;
    }

    /** Rewrites a module, or takes it from the cache. */
    probed(module: SentModule): Promise<Rewritten> {
        const { name, idBase, form, wasm } = module;
        const key = createHash('sha256').update(JSON.stringify([name, idBase, form])).update(wasm).digest('hex');
        const answer = this.#known.get(key) ?? this.#rewrite(module);
        this.#known.delete(key);
        this.#known.set(key, answer);
        // Another failure than a refusal may not happen again.
        answer.catch(() => this.#known.delete(key));
        const [oldest] = this.#known.keys();
        if (this.#known.size > MAX_CACHED) this.#known.delete(oldest!);
        return answer;
    }

    async #rewrite({ name, idBase, form, wasm }: SentModule): Promise<Rewritten> {
        const { options } = this.#settings;
        if (form === 'import' && !hasTwin(options)) return { refusal: 'it has an inlined recorder' };
        if (options.probe?.startsWith('profile') && form === 'alone') return { refusal: 'a profile needs a cross-origin isolated page' };
        const probe = form === 'import' || (options.probe === 'auto' && (form === 'alone' || !this.#settings.inline)) ? 'import' : options.probe!;
        const begun = performance.now();
        const rewritten = await this.#inTurn(() => rewriteInThread(wasm, { ...options, probe, id_base: idBase, module_name: name }));
        const { refusal, summary } = rewritten;
        if (refusal !== undefined) printStatus(`${name}: runs without probes: ${refusal}`);
        else if (summary) {
            const { probed, functions, inline, warnings } = summary;
            const sizes = `${wasm.length} -> ${rewritten.wasm!.length} bytes`;
            printStatus(`${name}: ${probed} of ${functions} functions probed${inline ? ' (inline)' : ''}, ${sizes}, ${Math.round(performance.now() - begun)}ms`);
            for (const warning of warnings) printStatus(`warning: ${warning}`);
            this.#missing.add(symbolsOf(rewritten.wasm!)!);
        }
        return rewritten;
    }

    async #inTurn<T>(work: () => Promise<T>): Promise<T> {
        if (this.#running >= MAX_RUNNING) await new Promise<void>((go) => this.#waiting.push(go));
        else this.#running++;
        try {
            return await work();
        } finally {
            // The next one runs instead.
            const next = this.#waiting.shift();
            if (next) next();
            else this.#running--;
        }
    }
}
