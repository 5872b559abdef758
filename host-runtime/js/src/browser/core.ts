/** Loads the core in a page. */

import { TraceCore, type CoreOptions } from '../common/trace/core.js';
import { engine } from '../common/engine.js';

/** The URL of `kperf.js`, if this code is part of that script. */
export const script = (globalThis.document?.currentScript as HTMLScriptElement | null | undefined)?.src;
let module: Promise<WebAssembly.Module> | undefined;

/**
 * The core, loaded and compiled on first use: from `url`, or `core.wasm` beside `kperf.js` or in the package.
 */
export function coreModule(url?: string | URL): Promise<WebAssembly.Module> {
    // Bundlers recognise this expression and include the file.
    const load = (): Promise<Response> => fetch(url ?? (script ? new URL('core.wasm', script) : new URL('../core.wasm', import.meta.url)));
    module ??= load().then(async (response) => {
        if (!response.ok) throw new Error(`kperf: ${response.url} can't be loaded: ${response.status}`);
        return engine.compile(await response.arrayBuffer());
    });
    return module;
}

/** Begins to read a trace. */
export async function openTrace(options: CoreOptions): Promise<TraceCore> {
    return TraceCore.open(await coreModule(), options);
}
