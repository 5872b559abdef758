/**
 * Twins of modules with inlined recorders: the same modules with imported probes, whose instances cost the recorder nothing. An inlined recorder
 * has a memory for each instance, which takes milliseconds to make when there are thousands.
 */

import { SYMBOLS_SECTION } from '../constants.js';
import { engine, perModule, sectionsOf } from '../engine.js';
import { idsOf } from '../trace/symbols.js';
import type { Loaded, Loading, Source } from './loading.js';

interface Twin {
    source: Source;
    /** Whether somebody makes it, has made it, or failed to. */
    begun: boolean;
    /** Set while another thread makes it, and after that. */
    made?: Promise<void> | undefined;
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

    /** A module's twin, which is made if it doesn't exist; the module itself if it can't have one. */
    now(module: WebAssembly.Module): WebAssembly.Module {
        const twin = this.#of(module);
        if (twin && !twin.begun) attempt(twin, () => {
            const wasm = this.#loading.importedNow(twin.source);
            if (wasm) twin.module = new engine.Module(wasm);
        });
        return twin?.module ?? module;
    }

    /** The same for a program that waits for a promise. A promise if another thread makes the twin. */
    later(module: WebAssembly.Module): WebAssembly.Module | Promise<WebAssembly.Module> {
        const twin = this.#of(module);
        if (!twin || twin.module || (twin.begun && !twin.made)) return twin?.module ?? module;
        if (!twin.begun) attempt(twin, () => (twin.made = this.#loading.importedElsewhere(twin.source)?.then(
            async (wasm) => void (wasm && (twin.module = await engine.compile(wasm))),
        ).catch(() => undefined)));
        const { made } = twin;
        if (made) return made.then(() => twin.module ?? module);
        twin.begun = false;
        return this.now(module);
    }

    #of(module: WebAssembly.Module): Twin | undefined {
        return this.#twins.get(module) ?? this.#adopted(module);
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
}

/** Makes a twin. One that can't be made is none: the module is recorded as before. */
function attempt(twin: Twin, make: () => void): void {
    twin.begun = true;
    try {
        make();
    } catch {
        // See above.
    }
}

/** The first id of a module with probes. */
const idBaseOf = perModule((module) => {
    const table = sectionsOf(module, SYMBOLS_SECTION)[0];
    return table && idsOf(new Uint8Array(table)).idBase;
});
