/**
 * Modules that are imported (`import { run } from './app.wasm'`, `import source app from './app.wasm'`): node makes their instances past
 * all that `hook` wraps. Their probes are imported ones, from a module of ours.
 */

import * as nodeModule from 'node:module';
import { SYMBOLS_SECTION } from '../common/constants.js';
import { IDLE_PROBES } from '../common/idle.js';
import type { Loading } from '../common/loading.js';
import { outlineOf } from '../common/outline.js';
import { reasonOf } from '../common/reason.js';
import type { Recorder } from '../common/recorder.js';
import { tell } from './tell.js';

/** What supplies the probes, by what imports them. */
const suppliers = new Map<string, () => WebAssembly.ModuleImports>();

/** The probes for the module at an address. */
export function probesFor(url: string): WebAssembly.ModuleImports {
    const supply = suppliers.get(url);
    if (!supply) throw new Error(`kperf: nothing is known of ${url}`);
    return supply();
}

/** Of what node loads, as far as it is used here. Newer than the types of the oldest node. */
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

const PROBES = 'kperf-wasm:probes?';

/** Records modules that are imported, in a node that can import them. */
export function hookImports(recorder: () => Recorder | undefined, loading: Loading | undefined): void {
    const major = Number(process.versions.node.split('.')[0]);
    const canImport = major >= 24 || [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].some((flag) => flag.includes('--experimental-wasm-modules'));
    if (!registerHooks || !canImport) return;
    registerHooks({
        resolve(specifier, context, next) {
            const { parentURL } = context;
            if (specifier !== 'kperf' || parentURL === undefined || !suppliers.has(parentURL)) return next(specifier, context);
            return { url: PROBES + encodeURIComponent(parentURL), format: 'module', shortCircuit: true };
        },
        load(url, context, next) {
            if (url.startsWith(PROBES)) return { format: 'module', source: moduleFor(decodeURIComponent(url.slice(PROBES.length))), shortCircuit: true };
            const loaded = next(url, context);
            if (loaded.format !== 'wasm' || typeof loaded.source !== 'object') return loaded;
            const bytes = loaded.source instanceof Uint8Array ? loaded.source : new Uint8Array(loaded.source);
            const name = /([^/?#]+?)(\.wasm)?([?#].*)?$/.exec(url)?.[1];
            const wasm = loading?.now(bytes, name, { probe: 'import' })?.wasm ?? bytes;
            const symbols = outlineOf(wasm)?.custom.find(({ name }) => name === SYMBOLS_SECTION);
            if (symbols) suppliers.set(url, () => probesOr(url, () => recorder()?.probes(wasm.slice(symbols.start, symbols.end))));
            return { ...loaded, source: wasm };
        },
    });
}

/** Without a recorder probes do nothing. */
function probesOr(url: string, probes: () => WebAssembly.ModuleImports | undefined): WebAssembly.ModuleImports {
    try {
        return probes() ?? IDLE_PROBES;
    } catch (error) {
        tell(`${url} is not recorded: ${reasonOf(error)}`);
        return IDLE_PROBES;
    }
}

/** The text of a module that has the probes for another. */
function moduleFor(url: string): string {
    return `import { probesFor } from ${JSON.stringify(import.meta.url)};\nexport const { ${Object.keys(IDLE_PROBES).join(', ')} } = probesFor(${JSON.stringify(url)});`;
}
