/**
 * Twins of modules with inlined recorders: the same modules with imported probes, whose instances cost the recorder nothing. An inlined recorder
 * has a memory for each instance, which takes milliseconds to make when there are thousands.
 */

import { SYMBOLS_SECTION } from '../constants.js';
import { engine, perModule, sectionsOf } from '../engine.js';
import { readSymbols } from '../trace/symbols.js';
import type { Loaded, Loading, Source } from './loading.js';

interface Twin {
    source: Source;
    /** Whether somebody makes it, has made it, or failed to. */
    begun: boolean;
    module?: WebAssembly.Module;
}

/** Those of a thread. */
export class Twins {
    readonly #loading: Loading;
    readonly #twins = new WeakMap<WebAssembly.Module, Twin>();

    private constructor(loading: Loading) {
        this.#loading = loading;
    }

    static readonly #all = new WeakMap<Loading, Twins>();

    /** The same ones for all realms. */
    static of(loading: Loading): Twins {
        let twins = Twins.#all.get(loading);
        if (!twins) Twins.#all.set(loading, (twins = new Twins(loading)));
        return twins;
    }

    /** Adds a module that was rewritten. */
    add(module: WebAssembly.Module, { source }: Loaded): void {
        if (source) this.#twins.set(module, { source, begun: false });
    }

    /** A module's twin; the module itself if it has none. If the program `waits`, a twin is made now, otherwise a large one is made meanwhile. */
    twinOf(module: WebAssembly.Module, waits: boolean): WebAssembly.Module {
        const twin = this.#twins.get(module) ?? this.#adopted(module);
        if (!twin) return module;
        if (!twin.begun) this.#make(twin, waits);
        return twin.module ?? module;
    }

    /** The twin of a module that another thread has rewritten. */
    #adopted(module: WebAssembly.Module): Twin | undefined {
        const idBase = idBaseOf(module);
        const source = idBase === undefined ? undefined : this.#loading.sourceOf(idBase);
        if (!source) return undefined;
        const twin = { source, begun: false };
        this.#twins.set(module, twin);
        return twin;
    }

    #make(twin: Twin, waits: boolean): void {
        // One that can't be made is none: the module is recorded as before.
        twin.begun = true;
        try {
            const later = waits ? undefined : this.#loading.importedElsewhere(twin.source);
            if (later) {
                void later.then((wasm) => wasm && engine.compile(wasm)).then((module) => module && (twin.module = module)).catch(() => undefined);
                return;
            }
            const wasm = this.#loading.importedNow(twin.source);
            if (wasm) twin.module = new engine.Module(wasm);
        } catch {
            // See above.
        }
    }
}

/** The first id of a module with probes. */
const idBaseOf = perModule((module) => {
    const table = sectionsOf(module, SYMBOLS_SECTION)[0];
    return table && readSymbols(new Uint8Array(table)).idBase;
});
