/** Wraps `WebAssembly`, so that modules get probes when they are compiled, and a recorder when they are instantiated. */

import { ENTER, HOST_FLUSH, HOST_MODULE, MODULE, SYMBOLS_SECTION } from '../constants.js';
import { hasHidden, hideInModule, hideInInstance, isHidden, visibleExports, visibleImports, visibleInstanceExports, visibleSections } from './hide-probes.js';
import { isModule, perModule, sectionsOf } from '../engine.js';
import { idleImports } from './idle.js';
import type { Loaded, Loading } from './loading.js';
import { Twins } from './twins.js';
import { reasonOf } from '../warn.js';
import type { Recorder } from '../recorder/recorder.js';

type Namespace = typeof WebAssembly;
type Options = Parameters<Namespace['compile']>[1];
type Streamed = Parameters<Namespace['compileStreaming']>[0];

export interface Hooks {
    /** Called when a probed module is instantiated. */
    recorder: (module: WebAssembly.Module) => Recorder | undefined;
    /** Awaited before that if the program waits anyway. */
    ready?: (module: WebAssembly.Module) => Promise<void>;
    /** Puts probes into modules without any; `undefined`: leaves them unchanged. */
    loading?: Loading | undefined;
    /** Warns that a module is not recorded. The program never gets an error of ours. */
    warn: (line: string) => void;
}

/**
 * Wraps the functions of a realm's `WebAssembly` that make modules and instances. Probed modules are recognized by their symbol table. Modules
 * without probes, and those whose imports handle the probes, are instantiated as before.
 */
export function hook(hooks: Hooks, realm: Namespace = WebAssembly): void {
    const { instantiate, Instance } = realm;
    const { recorder, ready, loading, warn } = hooks;
    const twins = loading && Twins.of(loading);
    if (loading) hookModules(realm, loading, twins!);
    const failed = (error: unknown): void => warn(`a module is not recorded: ${reasonOf(error)}`);
    // These add probes.
    const { compile: load, compileStreaming: loadStreaming } = realm;

    const importsFor = (module: WebAssembly.Module, imports?: WebAssembly.Imports): WebAssembly.Imports | undefined => {
        if (!isProbed(module) || isAnswered(module, imports)) return imports;
        // The engine reports missing imports.
        if ((typeof imports !== 'object' || imports === null) && wantsImports(module)) return imports;
        try {
            const known = recorder(module);
            if (known) return known.imports(imports, module);
        } catch (error) {
            // If the program's object throws, it throws here again.
            const idle = idleImports(imports, module);
            failed(error);
            return idle;
        }
        return idleImports(imports, module);
    };
    /** A module's twins if there are many instances, so that the program gets one of its twin. */
    const twinsFor = (module: WebAssembly.Module, imports: WebAssembly.Imports | undefined): Twins | undefined => {
        if (!twins || !isProbed(module) || isAnswered(module, imports)) return undefined;
        try {
            if (recorder(module)?.hasMany !== true) return undefined;
            loading.prefersImports = true;
            return twins;
        } catch {
            // The error comes again, with a warning.
            return undefined;
        }
    };
    const attached = <Made extends WebAssembly.Instance>(module: WebAssembly.Module, instance: Made): Made => {
        if (!isProbed(module)) return instance;
        try {
            recorder(module)?.attach(instance);
        } catch (error) {
            failed(error);
        }
        if (hasHidden(module)) hideInInstance(instance);
        return instance;
    };
    const instance = async (module: WebAssembly.Module, imports?: WebAssembly.Imports): Promise<WebAssembly.Instance> => {
        if (ready && isProbed(module)) await ready(module).catch(failed);
        let own = twinsFor(module, imports)?.later(module) ?? module;
        if (own instanceof Promise) own = await own;
        return attached(own, await instantiate.call(realm, own, importsFor(own, imports)));
    };
    const both = async (module: WebAssembly.Module, imports?: WebAssembly.Imports): Promise<WebAssembly.WebAssemblyInstantiatedSource> => {
        return { module, instance: await instance(module, imports) };
    };

    replace(realm, 'instantiate', async (source: BufferSource | WebAssembly.Module, imports?: WebAssembly.Imports, options?: Options) => {
        if (isModule(source)) return instance(source, imports);
        let module: WebAssembly.Module;
        try {
            module = await load.call(realm, source, options);
        } catch {
            // For the engine's own error message of `instantiate`.
            return instantiate.call(realm, source, imports);
        }
        return both(module, imports);
    });
    if (realm.instantiateStreaming as unknown) {
        replace(realm, 'instantiateStreaming', async (source: Streamed, imports?: WebAssembly.Imports, options?: Options) => {
            return both(await loadStreaming.call(realm, source, options), imports);
        });
    }
    const hooked = new Proxy(Instance, {
        construct(target, [module, imports, ...rest]: [WebAssembly.Module, WebAssembly.Imports?], newTarget) {
            const own = twinsFor(module, imports)?.now(module) ?? module;
            return attached(own, Reflect.construct(target, [own, importsFor(own, imports), ...rest], newTarget) as WebAssembly.Instance);
        },
    });
    Instance.prototype.constructor = hooked;
    replace(realm, 'Instance', hooked);
    hide(realm);
}

/** Wraps the functions that compile modules. */
function hookModules(realm: Namespace, loading: Loading, twins: Twins): void {
    const { compile, compileStreaming, Module } = realm;

    /** Compiles a module with its probes, or the original if the engine refuses that. */
    const compiled = async (loaded: Loaded | undefined, name: string | undefined, probed: () => Promise<WebAssembly.Module>, plain: () => Promise<WebAssembly.Module>): Promise<WebAssembly.Module> => {
        if (!loaded) return plain();
        try {
            const module = await probed();
            hideInModule(module, loaded.sections);
            twins.add(module, loaded);
            return module;
        } catch (error) {
            const module = await plain();
            loading.refused(name, error);
            return module;
        }
    };
    const compileBytes = async (bytes: Uint8Array<ArrayBuffer>, options: Options): Promise<WebAssembly.Module> => {
        const loaded = await loading.later(bytes);
        return compiled(loaded, undefined, () => compile.call(realm, loaded!.wasm, options), () => compile.call(realm, bytes, options));
    };

    replace(realm, 'compile', async (source: BufferSource, options?: Options) => {
        const bytes = bytesOf(source)?.slice();
        return bytes ? compileBytes(bytes, options) : compile.call(realm, source, options);
    });
    if (compileStreaming as unknown) {
        replace(realm, 'compileStreaming', async (source: Streamed, options?: Options) => {
            const response = await source;
            // The engine reports invalid responses.
            const isWasm = response instanceof Response && response.ok && !response.bodyUsed && response.headers.get('content-type')?.trim().toLowerCase() === WASM_TYPE;
            if (!isWasm) return compileStreaming.call(realm, response, options);
            const bytes = new Uint8Array(await response.arrayBuffer());
            const name = fileName(response.url);
            const loaded = await loading.later(bytes, name);
            const stream = (wasm: Uint8Array<ArrayBuffer>): Promise<WebAssembly.Module> => compileStreaming.call(realm, new Response(wasm, { headers: { 'content-type': WASM_TYPE } }), options);
            return compiled(loaded, name, () => stream(loaded!.wasm), () => stream(bytes));
        });
    }
    const hooked = new Proxy(Module, {
        construct(target, [source, ...rest]: [BufferSource], newTarget) {
            const make = (source: BufferSource): WebAssembly.Module => Reflect.construct(target, [source, ...rest], newTarget) as WebAssembly.Module;
            const bytes = bytesOf(source);
            const loaded = bytes && loading.now(bytes);
            if (!loaded) return make(source);
            try {
                const module = make(loaded.wasm);
                hideInModule(module, loaded.sections);
                twins.add(module, loaded);
                return module;
            } catch (error) {
                const module = make(source);
                loading.refused(undefined, error);
                return module;
            }
        },
    });
    Module.prototype.constructor = hooked;
    replace(realm, 'Module', hooked);
}

const WASM_TYPE = 'application/wasm';

/** Wraps the functions that show a module's or instance's parts. */
function hide(realm: Namespace): void {
    const { Instance, Module } = realm;
    const asked = { imports: visibleImports, exports: visibleExports, customSections: visibleSections };
    for (const [name, answer] of Object.entries(asked)) {
        const original = Module[name as keyof typeof asked] as (...asked: unknown[]) => unknown;
        replace(Module, name as keyof typeof asked, function (this: unknown, ...parameters: [WebAssembly.Module, string]) {
            // The engine handles other modules and errors.
            return isProbed(parameters[0]) && parameters.length >= original.length ? answer(...parameters) : original.apply(this, parameters);
        });
    }
    const original = Object.getOwnPropertyDescriptor(Instance.prototype, 'exports')!;
    const get = { get exports(): WebAssembly.Exports { return visibleInstanceExports(this as unknown as WebAssembly.Instance); } };
    Object.defineProperty(Instance.prototype, 'exports', { ...original, get: Object.getOwnPropertyDescriptor(get, 'exports')!.get! });
}

function isProbed(module: WebAssembly.Module): boolean {
    return isModule(module) && hasSymbols(module);
}

/** Whether the program must supply imports. */
const wantsImports = perModule((module) => visibleImports(module).length > 0);

const hasSymbols = perModule((module) => sectionsOf(module, SYMBOLS_SECTION).length > 0);

/** Whether the program's imports handle the probes. A Proxy that has every name doesn't count. */
function isAnswered(module: WebAssembly.Module, imports: WebAssembly.Imports | undefined): boolean {
    if (typeof imports !== 'object' || imports === null) return false;
    const has = (from: string, name: string): boolean => Object.hasOwn(imports, from) && imports[from]?.[name] !== undefined;
    return (has(MODULE, ENTER) || has(HOST_MODULE, HOST_FLUSH)) && !isHidden(module);
}

/** The bytes that a program compiles; `undefined` if the argument isn't a `BufferSource`. (A view of a `SharedArrayBuffer` is one.) */
function bytesOf(source: BufferSource): Uint8Array<ArrayBuffer> | undefined {
    if (!ArrayBuffer.isView(source)) return isBuffer(source) ? new Uint8Array(source) : undefined;
    const bytes = new Uint8Array(source.buffer as ArrayBuffer, source.byteOffset, source.byteLength);
    return isBuffer(source.buffer) ? bytes : bytes.slice();
}

/** Whether a value is an `ArrayBuffer` of any realm. */
function isBuffer(value: unknown): value is ArrayBuffer {
    return Object.prototype.toString.call(value) === '[object ArrayBuffer]';
}

/** The last part of a URL without its extension; `undefined` for `data:` URLs. */
function fileName(url: string): string | undefined {
    return url.startsWith('data:') ? undefined : /([^/?#]+?)(\.wasm)?([?#].*)?$/.exec(url)?.[1];
}

/** Replaces a member of an object, with the same name, length and attributes. */
function replace<Of extends object>(of: Of, name: keyof Of & string, value: unknown): void {
    const original = Object.getOwnPropertyDescriptor(of, name)!;
    // A Proxy has the original's.
    if (typeof value === 'function' && value.name !== name) Object.defineProperty(value, 'name', { value: name });
    if (typeof value === 'function' && value.length !== (original.value as { length: number }).length) Object.defineProperty(value, 'length', { value: (original.value as { length: number }).length });
    Object.defineProperty(of, name, { ...original, value });
}
