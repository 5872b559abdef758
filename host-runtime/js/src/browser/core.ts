/** The core's module in a page. */

import { TraceCore, type CoreOptions } from '../common/core.js';

/** Where the script that this is part of was loaded from, if it is a script in one piece. */
const script = (globalThis.document?.currentScript as HTMLScriptElement | null | undefined)?.src;
let module: Promise<WebAssembly.Module> | undefined;

/**
 * The core, loaded and compiled when it is first asked for: from `url`, or `core.wasm` beside `kperf.js`, or where the package
 * has it.
 */
export function coreModule(url?: string | URL): Promise<WebAssembly.Module> {
    // Spelled out for bundlers, which take the file along where they see this.
    const load = (): Promise<Response> => fetch(url ?? (script ? new URL('core.wasm', script) : new URL('../core.wasm', import.meta.url)));
    module ??= load().then(async (response) => {
        if (!response.ok) throw new Error(`kperf: ${response.url} can't be loaded: ${response.status}`);
        return WebAssembly.compile(await response.arrayBuffer());
    });
    return module;
}

/** Begins to read a trace. */
export async function openTrace(options: CoreOptions): Promise<TraceCore> {
    return TraceCore.open(await coreModule(), options);
}
