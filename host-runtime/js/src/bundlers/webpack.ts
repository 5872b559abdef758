/** A plugin for webpack 5 and Rspack: `kperf-wasm/webpack`. */

import { addressesIn, contentOf, FILES, FOLDER, HERE, pathOf, settings, type PluginOptions } from './page.js';

interface Applied {
    apply(compiler: Compiler): void;
}
interface Compilation {
    emitAsset(name: string, source: object): void;
    hooks: { processAssets: { tap(options: { name: string; stage: number }, emit: () => void): void } };
}
/** The part of webpack's API that the plugin uses. */
interface Compiler {
    context: string;
    webpack: {
        Compilation: { PROCESS_ASSETS_STAGE_ADDITIONAL: number };
        EntryPlugin: new (context: string, module: string, options: { name?: undefined }) => Applied;
        sources: { RawSource: new (content: Buffer) => object };
    };
    hooks: { thisCompilation: { tap(name: string, begin: (compilation: Compilation) => void): void } };
}

const NAME = 'kperf-wasm';

/** Records the modules of the app, whose entries load the recorder first. */
export default class KperfPlugin implements Applied {
    readonly #options: PluginOptions;

    constructor(options: PluginOptions = {}) {
        this.#options = options;
    }

    apply(compiler: Compiler): void {
        const { Compilation, EntryPlugin, sources } = compiler.webpack;
        const text = settings(this.#options, addressesIn('__webpack_public_path__'), HERE);
        // An entry without a name precedes each of the app's.
        for (const module of [`data:text/javascript,${encodeURIComponent(text)}`, pathOf(FILES.script)]) {
            new EntryPlugin(compiler.context, module, {}).apply(compiler);
        }
        compiler.hooks.thisCompilation.tap(NAME, (compilation) => {
            const options = { name: NAME, stage: Compilation.PROCESS_ASSETS_STAGE_ADDITIONAL };
            compilation.hooks.processAssets.tap(options, () => {
                for (const file of Object.values(FILES)) compilation.emitAsset(FOLDER + file, new sources.RawSource(contentOf(file)));
            });
        });
    }
}
