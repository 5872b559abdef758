/** A plugin for Rollup, and for Vite with its development server: `kperf-wasm/rollup`, `kperf-wasm/vite`. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { ISOLATION } from '../common/serving.js';
import { addressesIn, contentOf, FILES, FOLDER, HERE, pathOf, settings, type PluginOptions } from './page.js';
import { traces } from './traces.js';

/** The part of Vite's server that the plugin uses. */
interface ViteServer {
    middlewares: { use(path: string, answer: (request: IncomingMessage, response: ServerResponse, next: () => void) => void): void };
    config: { logger: { info(line: string): void } };
}
interface ViteConfig {
    base: string;
    command: 'build' | 'serve';
}
interface Headers {
    headers?: Record<string, unknown>;
}
interface Tag {
    tag: string;
    attrs?: Record<string, string>;
    children?: string;
    injectTo: 'head-prepend';
}
/** The part of Rollup's context that the plugin uses. */
interface Context {
    emitFile(file: { type: 'asset'; fileName: string; source: Uint8Array }): string;
    getModuleInfo(id: string): { isEntry: boolean } | null;
}
/** The plugin's interface for Rollup and Vite. */
export interface KperfPlugin {
    name: string;
    config(user: { server?: Headers; preview?: Headers }): { server: Headers; preview: Headers };
    configResolved(config: ViteConfig): void;
    configureServer(server: ViteServer): void;
    transformIndexHtml: { order: 'post'; handler: () => Tag[] };
    resolveId(id: string): string | undefined;
    load(id: string): string | undefined;
    transform(this: Context, code: string, id: string): { code: string; map: null } | undefined;
    generateBundle(this: Context): void;
}

/** The path for posts of traces, on the development server. */
const TRACE = `${FOLDER}trace`;
const SETTINGS = '\0kperf-wasm:settings';

/** Records the app's modules. Vite's development server writes their traces to files; elsewhere `post` is their URL. */
export default function kperf(options: PluginOptions = {}): KperfPlugin {
    let vite: ViteConfig | undefined;
    const isolated = ({ headers = {} }: Headers = {}): Headers => ({ headers: { ...ISOLATION, ...headers } });
    return {
        name: 'kperf-wasm',
        config: ({ server, preview }) => ({ server: isolated(server), preview: isolated(preview) }),
        configResolved(config) {
            vite = config;
        },
        configureServer({ middlewares, config }) {
            const take = traces((line) => config.logger.info(line));
            middlewares.use(`/${FOLDER}`, (request, response, next) => {
                const file = request.url?.replace(/^\/|\?.*$/g, '') ?? '';
                if (`${FOLDER}${file}` === TRACE) return take(request, response);
                if (!Object.values(FILES).includes(file)) return next();
                response.writeHead(200, { ...ISOLATION, 'content-type': file.endsWith('.wasm') ? 'application/wasm' : 'text/javascript', 'cache-control': 'no-cache' }).end(contentOf(file));
            });
        },
        transformIndexHtml: {
            // After Vite's own transformation, which would bundle our script.
            order: 'post',
            handler: () => {
                const base = JSON.stringify(vite?.base ?? '/');
                const post = vite?.command === 'serve' ? { ...options, post: `${vite.base}${TRACE}` } : options;
                return [
                    { tag: 'script', children: settings(post, addressesIn(base), HERE), injectTo: 'head-prepend' },
                    { tag: 'script', attrs: { src: `${vite?.base ?? '/'}${FOLDER}${FILES.script}` }, injectTo: 'head-prepend' },
                ];
            },
        },
        // Without Vite there is no page: the app's entries import the script.
        resolveId: (id) => (id === SETTINGS ? id : undefined),
        load: (id) => (id === SETTINGS ? settings(options, addressesIn("''"), HERE) : undefined),
        transform(code, id) {
            if (vite || !this.getModuleInfo(id)?.isEntry) return undefined;
            const first = [SETTINGS, pathOf(FILES.script)].map((module) => `import ${JSON.stringify(module)};`).join(' ');
            // On the first line, so that all others keep their numbers.
            return { code: `${first} ${code}`, map: null };
        },
        generateBundle() {
            for (const file of Object.values(FILES)) this.emitFile({ type: 'asset', fileName: FOLDER + file, source: contentOf(file) });
        },
    };
}
