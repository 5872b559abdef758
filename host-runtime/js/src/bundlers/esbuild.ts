/** A plugin for esbuild: `kperf-wasm/esbuild`. */

import { contentOf, FILES, HERE, pathOf, settings, type PluginOptions } from './page.js';

/** The part of esbuild's API that the plugin uses. */
interface Build {
    initialOptions: { inject?: string[]; format?: string };
    onResolve(filter: { filter: RegExp; namespace?: string }, resolve: (asked: { path: string }) => { path: string; namespace: string }): void;
    onLoad(filter: { filter: RegExp; namespace: string }, load: (asked: { path: string }) => { contents: string | Uint8Array; loader: 'js' | 'file'; resolveDir?: string }): void;
}

const NAMESPACE = 'kperf-wasm';
const SETTINGS = `${NAMESPACE}:settings`;

/** Records the modules of the app, whose entries load the recorder first. */
export default function kperf(options: PluginOptions = {}): { name: string; setup(build: Build): void } {
    return {
        name: NAMESPACE,
        setup(build) {
            const { initialOptions } = build;
            initialOptions.inject = [SETTINGS, pathOf(FILES.script), ...(initialOptions.inject ?? [])];
            // Its URLs are relative to its output.
            const base = initialOptions.format === 'esm' ? 'import.meta.url' : `globalThis.document?.currentScript?.src ?? ${HERE}`;
            build.onResolve({ filter: new RegExp(`^${NAMESPACE}:`) }, ({ path }) => ({ path: path.slice(NAMESPACE.length + 1), namespace: NAMESPACE }));
            build.onLoad({ filter: /./, namespace: NAMESPACE }, ({ path }) => {
                if (path !== 'settings') return { contents: contentOf(path), loader: 'file' };
                const names = Object.keys(FILES) as (keyof typeof FILES)[];
                const imports = names.map((name) => `import ${name} from ${JSON.stringify(`${NAMESPACE}:${FILES[name]}`)};\n`).join('');
                const addresses = Object.fromEntries(names.map((name) => [name, name])) as Record<keyof typeof FILES, string>;
                return { contents: imports + settings(options, addresses, base), loader: 'js' };
            });
        },
    };
}
