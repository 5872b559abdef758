/** The engine's own `WebAssembly`, saved before `hook` wraps it. Our own modules are made with these. */

/** What a program may have several copies of this package share: the originals of what they wrap, under one global symbol. */
export interface Originals {
    compile: typeof WebAssembly.compile;
    instantiate: typeof WebAssembly.instantiate;
    Module: typeof WebAssembly.Module;
    Instance: typeof WebAssembly.Instance;
    imports: typeof WebAssembly.Module.imports;
    exports: typeof WebAssembly.Module.exports;
    customSections: typeof WebAssembly.Module.customSections;
    instanceExports: (this: WebAssembly.Instance) => WebAssembly.Exports;
    /** Node's, which `register` wraps. */
    Worker?: unknown;
    /** The address of the copy that records the whole program. */
    registered?: string;
}

const { Module: OwnModule, Instance: OwnInstance } = WebAssembly;
export const originals = ((globalThis as { [of: symbol]: unknown })[Symbol.for('kperf-wasm.originals')] ??= {
    compile: WebAssembly.compile,
    instantiate: WebAssembly.instantiate,
    Module: OwnModule,
    Instance: OwnInstance,
    imports: OwnModule.imports,
    exports: OwnModule.exports,
    customSections: OwnModule.customSections,
    instanceExports: Object.getOwnPropertyDescriptor(OwnInstance.prototype, 'exports')?.get,
}) as Originals;
const { compile, instantiate, Module, Instance, imports, exports, customSections, instanceExports } = originals;

export const engine = { compile, instantiate, Module, Instance };

/** All imports of a module, including those of probes. */
export const importsOf = (module: WebAssembly.Module): WebAssembly.ModuleImportDescriptor[] => imports(module);

/** All exports of a module, including those of an inlined recorder. */
export const exportsOf = (module: WebAssembly.Module): WebAssembly.ModuleExportDescriptor[] => exports(module);

/** A module's custom sections of one name. */
export const sectionsOf = (module: WebAssembly.Module, name: string): ArrayBuffer[] => customSections(module, name);

/** All exports of an instance. */
export const instanceExportsOf = (instance: WebAssembly.Instance): WebAssembly.Exports => instanceExports.call(instance);

/** Computes an answer once per module: a program may make an instance of it for each request. */
export function perModule<Answer>(compute: (module: WebAssembly.Module) => Answer): (module: WebAssembly.Module) => Answer {
    const answers = new WeakMap<WebAssembly.Module, { is: Answer }>();
    return (module) => {
        let answer = answers.get(module);
        if (!answer) answers.set(module, (answer = { is: compute(module) }));
        return answer.is;
    };
}

/** Whether a value is a module of any realm. */
export function isModule(value: unknown): value is WebAssembly.Module {
    if (modules.has(value as WebAssembly.Module)) return true;
    try {
        imports(value as WebAssembly.Module);
    } catch {
        return false;
    }
    modules.add(value as WebAssembly.Module);
    return true;
}

/** Modules that were recognized: asking the engine again costs a microsecond, and more for each import. */
const modules = new WeakSet<WebAssembly.Module>();
