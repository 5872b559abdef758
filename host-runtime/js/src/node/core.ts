/** The core's module in node. */

import { readFile } from 'node:fs/promises';
import { TraceCore, type CoreOptions } from '../common/core.js';

let module: Promise<WebAssembly.Module> | undefined;

/** The core, read and compiled when it is first asked for. */
export function coreModule(): Promise<WebAssembly.Module> {
    module ??= readFile(new URL('../core.wasm', import.meta.url)).then((bytes) => WebAssembly.compile(bytes));
    return module;
}

/** Begins to read a trace. */
export async function openTrace(options: CoreOptions): Promise<TraceCore> {
    return TraceCore.open(await coreModule(), options);
}
