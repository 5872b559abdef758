/** Embedded modules, compiled once per thread. */

import { engine } from './engine.js';

const compiled = new Map<Uint8Array<ArrayBuffer>, WebAssembly.Module>();

export function moduleOf(bytes: Uint8Array<ArrayBuffer>): WebAssembly.Module {
    let module = compiled.get(bytes);
    if (!module) compiled.set(bytes, (module = new engine.Module(bytes)));
    return module;
}

export function instantiate<Exports>(bytes: Uint8Array<ArrayBuffer>, imports: WebAssembly.Imports): Exports {
    return new engine.Instance(moduleOf(bytes), imports).exports as Exports;
}
