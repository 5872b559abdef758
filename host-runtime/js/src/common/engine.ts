/** The engine's own `WebAssembly`, saved before `hook` wraps it. Our own modules are made with these. */

const { compile, instantiate, Module, Instance } = WebAssembly;
const { imports, exports, customSections } = Module;
const instanceExports = Object.getOwnPropertyDescriptor(Instance.prototype, 'exports')?.get as (this: WebAssembly.Instance) => WebAssembly.Exports;

export const engine = { compile, instantiate, Module, Instance };

/** All imports of a module, including those of probes. */
export const importsOf = (module: WebAssembly.Module): WebAssembly.ModuleImportDescriptor[] => imports(module);

/** All exports of a module, including those of an inlined recorder. */
export const exportsOf = (module: WebAssembly.Module): WebAssembly.ModuleExportDescriptor[] => exports(module);

/** A module's custom sections of one name. */
export const sectionsOf = (module: WebAssembly.Module, name: string): ArrayBuffer[] => customSections(module, name);

/** All exports of an instance. */
export const instanceExportsOf = (instance: WebAssembly.Instance): WebAssembly.Exports => instanceExports.call(instance);

/** Whether a value is a module of any realm. */
export function isModule(value: unknown): value is WebAssembly.Module {
    try {
        return imports(value as WebAssembly.Module) !== undefined;
    } catch {
        return false;
    }
}
