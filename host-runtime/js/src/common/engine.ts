/** What the engine has of WebAssembly, as it was before `hook` put anything in its place: what we make ourselves is no program's. */

const { compile, instantiate, Module, Instance } = WebAssembly;
const { imports, exports, customSections } = Module;
const instanceExports = Object.getOwnPropertyDescriptor(Instance.prototype, 'exports')?.get as (this: WebAssembly.Instance) => WebAssembly.Exports;

export const engine = { compile, instantiate, Module, Instance };

/** All that a module imports, ours too. */
export const importsOf = (module: WebAssembly.Module): WebAssembly.ModuleImportDescriptor[] => imports(module);

/** All that a module exports. */
export const exportsOf = (module: WebAssembly.Module): WebAssembly.ModuleExportDescriptor[] => exports(module);

/** A module's custom sections of this name. */
export const sectionsOf = (module: WebAssembly.Module, name: string): ArrayBuffer[] => customSections(module, name);

/** All that an instance exports. */
export const instanceExportsOf = (instance: WebAssembly.Instance): WebAssembly.Exports => instanceExports.call(instance);

/** Whether this is a module, of whatever realm. */
export function isModule(value: unknown): value is WebAssembly.Module {
    try {
        return imports(value as WebAssembly.Module) !== undefined;
    } catch {
        return false;
    }
}
