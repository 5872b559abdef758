/** Wraps what makes instances of modules, so that probed ones get a recorder. */

import { HOST_MODULE, MODULE, SYMBOLS_SECTION } from './constants.js';
import type { Recorder } from './recorder.js';

type Options = Parameters<typeof WebAssembly.compile>[1];

/**
 * Wraps `WebAssembly.instantiate`, `instantiateStreaming` and `Instance`. Modules pass as they are, compiled by whatever: they
 * carry their symbol table. `recorder` is asked when the first probed one comes; those without probes get what they would
 * have got, and so do those whose imports answer the probes. `ready` is waited for before that where the program waits anyway.
 */
export function hook(recorder: (module: WebAssembly.Module) => Recorder | undefined, ready?: (module: WebAssembly.Module) => Promise<void>): void {
    const { compile, compileStreaming, instantiate, Instance } = WebAssembly;

    const isProbed = (module: WebAssembly.Module): boolean =>
        module instanceof WebAssembly.Module && WebAssembly.Module.customSections(module, SYMBOLS_SECTION).length > 0;
    const importsFor = (module: WebAssembly.Module, imports?: WebAssembly.Imports): WebAssembly.Imports | undefined => {
        // Who answers the probes already is asked by hand.
        if (!isProbed(module) || imports?.[MODULE] || imports?.[HOST_MODULE]) return imports;
        return recorder(module)?.imports(imports, module) ?? imports;
    };
    const attached = <Made extends WebAssembly.Instance>(module: WebAssembly.Module, instance: Made): Made => {
        return isProbed(module) ? (recorder(module)?.attach(instance) ?? instance) : instance;
    };
    const instance = async (module: WebAssembly.Module, imports?: WebAssembly.Imports): Promise<WebAssembly.Instance> => {
        if (ready && isProbed(module)) await ready(module);
        return attached(module, await instantiate(module, importsFor(module, imports)));
    };
    const both = async (module: WebAssembly.Module, imports?: WebAssembly.Imports): Promise<WebAssembly.WebAssemblyInstantiatedSource> => {
        return { module, instance: await instance(module, imports) };
    };

    replace('instantiate', async (source: BufferSource | WebAssembly.Module, imports?: WebAssembly.Imports, options?: Options) => {
        if (source instanceof WebAssembly.Module) return instance(source, imports);
        return both(await compile(source, options), imports);
    });
    if (compileStreaming) {
        type Source = Parameters<typeof compileStreaming>[0];
        replace('instantiateStreaming', async (source: Source, imports?: WebAssembly.Imports, options?: Options) => {
            return both(await compileStreaming(source, options), imports);
        });
    }
    const hooked = new Proxy(Instance, {
        construct(target, [module, imports, ...rest]: [WebAssembly.Module, WebAssembly.Imports?], newTarget) {
            return attached(module, Reflect.construct(target, [module, importsFor(module, imports), ...rest], newTarget) as WebAssembly.Instance);
        },
    });
    Instance.prototype.constructor = hooked;
    replace('Instance', hooked);
}

/** Puts something in the place of a member of `WebAssembly`, which looks as it did. */
function replace<Name extends 'instantiate' | 'instantiateStreaming' | 'Instance'>(name: Name, value: unknown): void {
    const original = Object.getOwnPropertyDescriptor(WebAssembly, name);
    if (typeof value === 'function' && name !== 'Instance') {
        Object.defineProperty(value, 'name', { value: name });
        Object.defineProperty(value, 'length', { value: 1 });
    }
    Object.defineProperty(WebAssembly, name, { ...original, value });
}
