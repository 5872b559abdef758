/** Programs don't see that their modules have probes: what they ask of modules and instances is answered as it was. */

import { HOST_IMPORTS, HOST_MODULE, LOADED_IDS, MODULE, PROBES, RECORDER_EXPORTS, SYMBOLS_SECTION } from '../constants.js';
import { exportsOf, importsOf, instanceExportsOf, sectionsOf } from '../engine.js';
import type { Loaded } from './loading.js';
import { readSymbols } from '../trace/symbols.js';

/** The modules that were rewritten when they were loaded. */
const loaded = new WeakMap<WebAssembly.Module, Loaded['sections']>();
/** What programs see of instances with probes. */
const visible = new WeakMap<WebAssembly.Instance, WebAssembly.Exports>();
/** Each of those keeps what it was made of: the recorder goes when that does. */
const madeOf = new WeakMap<WebAssembly.Exports, WebAssembly.Exports>();

/** A module was made of one that had these custom sections. */
export function hideInModule(module: WebAssembly.Module, sections: Loaded['sections']): void {
    loaded.set(module, sections);
}

/** Whether the program doesn't know of its probes. (A module that was posted, or cloned, isn't the one that was loaded.) */
export function isHidden(module: WebAssembly.Module): boolean {
    return loaded.has(module) || sectionsOf(module, SYMBOLS_SECTION).some(isOurs);
}

/** What a program sees of a module's imports. */
export function visibleImports(module: WebAssembly.Module): WebAssembly.ModuleImportDescriptor[] {
    return importsOf(module).filter(({ module, name }) => !(module === MODULE && PROBES.has(name)) && !(module === HOST_MODULE && HOST_IMPORTS.has(name)));
}

/** What a program sees of a module's exports. Some may have names that only begin as ours do. */
export function visibleExports(module: WebAssembly.Module): WebAssembly.ModuleExportDescriptor[] {
    return exportsOf(module).filter(({ name }) => !RECORDER_EXPORTS.has(name));
}

/** What a program sees of a module's custom sections. */
export function visibleSections(module: WebAssembly.Module, name: string): ArrayBuffer[] {
    const sections = loaded.get(module);
    if (sections) return (sections.get(name) ?? []).map((section) => section.slice().buffer);
    const found = sectionsOf(module, name);
    return name === SYMBOLS_SECTION && found.some(isOurs) ? [] : found;
}

/** A table's ids tell that its module got its probes when somebody's program loaded it. */
function isOurs(table: ArrayBuffer): boolean {
    try {
        return readSymbols(new Uint8Array(table)).idBase >= LOADED_IDS;
    } catch {
        // The program has something else under this name.
        return false;
    }
}

/** What a program sees of the exports of an instance with probes, from here on. */
export function hideInInstance(instance: WebAssembly.Instance): void {
    const exports = instanceExportsOf(instance);
    const seen = Object.entries(exports).filter(([name]) => !RECORDER_EXPORTS.has(name));
    if (seen.length === Object.keys(exports).length) return;
    const own: WebAssembly.Exports = Object.create(null) as WebAssembly.Exports;
    for (const [name, value] of seen) own[name] = value;
    visible.set(instance, Object.freeze(own));
    madeOf.set(own, exports);
}

/** What a program sees of an instance's exports. */
export function visibleInstanceExports(instance: WebAssembly.Instance): WebAssembly.Exports {
    return visible.get(instance) ?? instanceExportsOf(instance);
}
