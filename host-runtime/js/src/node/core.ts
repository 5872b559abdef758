/** The core's module in node. */

import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { TraceCore, type CoreOptions } from '../common/trace/core.js';
import { engine } from '../common/engine.js';

const FILE = new URL('../core.wasm', import.meta.url);

let module: Promise<WebAssembly.Module> | undefined;

/** The core, read and compiled at the first call. */
export function coreModule(): Promise<WebAssembly.Module> {
    module ??= readFile(FILE).then((bytes) => engine.compile(bytes));
    return module;
}

/** The core, compiled synchronously for a thread without an event loop. */
export function coreModuleSync(): WebAssembly.Module {
    return new engine.Module(readFileSync(FILE));
}

/** Begins to read a trace; see `TraceCore`. */
export async function openTrace(options: CoreOptions): Promise<TraceCore> {
    return TraceCore.open(await coreModule(), options);
}
