/** Hides probes from programs: imports, exports and custom sections look as they did before rewriting. */

import { HOST_IMPORTS, HOST_MODULE, LOADED_IDS, MODULE, PROBES, RECORDER_EXPORTS, SYMBOLS_SECTION } from '../constants.js';
import { exportsOf, importsOf, instanceExportsOf, perModule, sectionsOf } from '../engine.js';
import type { Loaded } from './loading.js';
import { idsOf } from '../trace/symbols.js';

/** Original custom sections of modules that were rewritten when they were loaded. */
const loaded = new WeakMap<WebAssembly.Module, Loaded['sections']>();
/** Visible exports of instances with inlined recorders. */
const visible = new WeakMap<WebAssembly.Instance, WebAssembly.Exports>();
/** Keeps the original exports alive as long as the visible ones: the recorder ends with the original. */
const madeOf = new WeakMap<WebAssembly.Exports, WebAssembly.Exports>();

/** Hides the probes of a module whose original had these custom sections. */
export function hideInModule(module: WebAssembly.Module, sections: Loaded['sections']): void {
    loaded.set(module, sections);
}

/** Whether a module was rewritten when it was loaded. A module that was posted or cloned isn't in `loaded`, but its ids show it. */
export function isHidden(module: WebAssembly.Module): boolean {
    return loaded.has(module) || sectionsOf(module, SYMBOLS_SECTION).some(isOurs);
}

export function visibleImports(module: WebAssembly.Module): WebAssembly.ModuleImportDescriptor[] {
    return importsOf(module).filter(({ module, name }) => !(module === MODULE && PROBES.has(name)) && !(module === HOST_MODULE && HOST_IMPORTS.has(name)));
}

export function visibleExports(module: WebAssembly.Module): WebAssembly.ModuleExportDescriptor[] {
    return exportsOf(module).filter(({ name }) => !RECORDER_EXPORTS.has(name));
}

export function visibleSections(module: WebAssembly.Module, name: string): ArrayBuffer[] {
    const sections = loaded.get(module);
    if (sections) return (sections.get(name) ?? []).map((section) => section.slice().buffer);
    const found = sectionsOf(module, name);
    return name === SYMBOLS_SECTION && found.some(isOurs) ? [] : found;
}

/** Whether a symbol table's ids are those of a module that was rewritten when it was loaded. */
function isOurs(table: ArrayBuffer): boolean {
    try {
        return idsOf(new Uint8Array(table)).idBase >= LOADED_IDS;
    } catch {
        // Another section of this name.
        return false;
    }
}

/** Whether a module's instances have exports to hide. */
export const hasHidden = perModule((module) => exportsOf(module).some(({ name }) => RECORDER_EXPORTS.has(name)));

/** Hides an instance's inlined recorder. */
export function hideInInstance(instance: WebAssembly.Instance): void {
    const exports = instanceExportsOf(instance);
    const seen = Object.entries(exports).filter(([name]) => !RECORDER_EXPORTS.has(name));
    if (seen.length === Object.keys(exports).length) return;
    const own: WebAssembly.Exports = Object.create(null) as WebAssembly.Exports;
    for (const [name, value] of seen) own[name] = value;
    visible.set(instance, Object.freeze(own));
    madeOf.set(own, exports);
}

export function visibleInstanceExports(instance: WebAssembly.Instance): WebAssembly.Exports {
    return visible.get(instance) ?? instanceExportsOf(instance);
}
