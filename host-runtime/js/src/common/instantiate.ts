/** Modules of ours, compiled once a thread. */

import { engine } from './engine.js';

const compiled = new Map<Uint8Array<ArrayBuffer>, WebAssembly.Module>();

/** A module of ours, compiled once a thread. */
export function moduleOf(bytes: Uint8Array<ArrayBuffer>): WebAssembly.Module {
    let module = compiled.get(bytes);
    if (!module) compiled.set(bytes, (module = new engine.Module(bytes)));
    return module;
}

/** An instance of a module of ours. */
export function instantiate<Exports>(bytes: Uint8Array<ArrayBuffer>, imports: WebAssembly.Imports): Exports {
    return new engine.Instance(moduleOf(bytes), imports).exports as Exports;
}
