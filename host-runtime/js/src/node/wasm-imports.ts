/**
 * Records modules that are imported (`import { run } from './app.wasm'`, `import source app from './app.wasm'`). Node instantiates them
 * without the functions that `hook` wraps, so they get imported probes, from a module of ours.
 */

import * as nodeModule from 'node:module';
import { MODULE, PROBES } from '../common/constants.js';
import { engine, importsOf } from '../common/engine.js';
import { IDLE_PROBES } from '../common/hook/idle.js';
import type { Loading } from '../common/hook/loading.js';
import { symbolsOf } from '../common/hook/module-headers.js';
import { reasonOf } from '../common/warn.js';
import type { Recorder } from '../common/recorder/recorder.js';

/** A module with probes. */
interface Probed {
    supply: () => WebAssembly.ModuleImports;
    wasm: Uint8Array;
}
const modules = new Map<string, Probed>();

/** The probes for the module at a URL. */
export function probesFor(url: string): WebAssembly.ModuleImports {
    const probed = modules.get(url);
    if (!probed) throw new Error(`kperf: unknown module ${url}`);
    return probed.supply();
}

/** The part of node's loader API that is used here; the types of the oldest node lack it. */
interface Loaded {
    format?: string | null;
    source?: string | ArrayBuffer | Uint8Array;
    shortCircuit?: boolean;
}
interface Hooks {
    resolve(specifier: string, context: { parentURL?: string }, next: (specifier: string, context: object) => object): object;
    load(url: string, context: object, next: (url: string, context: object) => Loaded): Loaded;
}
const { registerHooks } = nodeModule as { registerHooks?: (hooks: Hooks) => void };

const ADDRESS = 'kperf-wasm:probes?';

/** Records imported modules, if node can import them. */
export function hookImports(recorder: () => Recorder | undefined, loading: Loading | undefined, unrecorded: (line: string) => void): void {
    const major = Number(process.versions.node.split('.')[0]);
    const canImport = major >= 24 || [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].some((flag) => flag.includes('--experimental-wasm-modules'));
    if (!registerHooks || !canImport) return;
    registerHooks({
        resolve(specifier, context, next) {
            const { parentURL } = context;
            // The program's own module of this name.
            if (parentURL?.startsWith(ADDRESS)) return next(specifier, specifier === MODULE ? { ...context, parentURL: importerAt(parentURL) } : context);
            if (specifier !== MODULE || parentURL === undefined || !modules.has(parentURL)) return next(specifier, context);
            return { url: ADDRESS + encodeURIComponent(parentURL), format: 'module', shortCircuit: true };
        },
        load(url, context, next) {
            if (url.startsWith(ADDRESS)) return { format: 'module', source: moduleFor(importerAt(url)), shortCircuit: true };
            const loaded = next(url, context);
            if (loaded.format !== 'wasm' || typeof loaded.source !== 'object') return loaded;
            const bytes = loaded.source instanceof Uint8Array ? loaded.source : new Uint8Array(loaded.source);
            const name = /([^/?#]+?)(\.wasm)?([?#].*)?$/.exec(url)?.[1];
            const wasm = loading?.now(bytes, name, { probe: 'import' })?.wasm ?? bytes;
            const symbols = symbolsOf(wasm)?.slice();
            if (symbols) modules.set(url, { supply: () => probesOr(() => recorder()?.probes(symbols), (reason) => unrecorded(`${url} is not recorded: ${reason}`)), wasm });
            return { ...loaded, source: wasm };
        },
    });
}

/** Without a recorder probes do nothing. */
function probesOr(probes: () => WebAssembly.ModuleImports | undefined, failed: (reason: string) => void): WebAssembly.ModuleImports {
    try {
        return probes() ?? IDLE_PROBES;
    } catch (error) {
        failed(reasonOf(error));
        return IDLE_PROBES;
    }
}

/** The address of the module that a module of ours has the probes for. */
function importerAt(url: string): string {
    return decodeURIComponent(url.slice(ADDRESS.length));
}

/** The text of a module with the probes for another module, and with the program's own exports under the same name. */
function moduleFor(url: string): string {
    const own = ownImports(url).map((name) => JSON.stringify(name)).join(', ');
    return [
        `import { probesFor } from ${JSON.stringify(import.meta.url)};`,
        `export const { ${Object.keys(IDLE_PROBES).join(', ')} } = probesFor(${JSON.stringify(url)});`,
        ...(own ? [`export { ${own} } from ${JSON.stringify(MODULE)};`] : []),
    ].join('\n');
}

/** The program's own imports under the name of our module. */
function ownImports(url: string): string[] {
    const { wasm } = modules.get(url) ?? {};
    if (!wasm) return [];
    const names = importsOf(new engine.Module(wasm as Uint8Array<ArrayBuffer>)).filter(({ module, name }) => module === MODULE && !PROBES.has(name)).map(({ name }) => name);
    return [...new Set(names)];
}
