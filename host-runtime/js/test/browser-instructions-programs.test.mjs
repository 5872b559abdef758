// Published programs in pages: each function executes as many instructions as in node, to the last one. KPERF_PROGRAMS=all, by which
// tests/conformance/programs fetches the packages, asks for it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { launch, open } from './support/chromium.mjs';
import { folder, kperf, PACKAGE, ROOT } from './support/cli.mjs';
import { isHere, visit } from './support/firefox.mjs';
import { page } from './support/pages.mjs';
import { serve } from './support/server.mjs';

/** They ask for no time and no random number, and do the same in a page: no files, no arguments, no screen. */
const PROGRAMS = ['ghostty', 'graphviz', 'rabin', 'wabt', 'zxing'];
const wanted = process.env.KPERF_PROGRAMS === 'all';
const work = folder();
const register = pathToFileURL(join(PACKAGE, 'dist/node/register.js')).href;

/** Where the packages are. */
function fetched() {
    const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'kperf-wasm');
    const found = existsSync(cache) ? readdirSync(cache).filter((name) => existsSync(join(cache, name, 'rabin.mjs'))) : [];
    return found.length > 0 ? join(cache, found[0]) : undefined;
}

/** Name, calls and instructions of each function. */
function table(trace) {
    const { functions } = JSON.parse(kperf('report', trace, '--format', 'json', '--limit', '0'));
    return functions.map(({ name, calls, self_instructions }) => [name, calls, self_instructions]).sort();
}

/** What programs ask of node, for a page. */
const NODE = {
    'node:fs': `export function readFileSync(path) {
        const request = new XMLHttpRequest();
        request.open('GET', '/file' + path, false);
        request.overrideMimeType('text/plain; charset=x-user-defined');
        request.send();
        return Uint8Array.from(request.responseText, (char) => char.charCodeAt(0));
    }`,
    'node:module': 'export const createRequire = () => undefined;',
    depth: 'export const depth = () => 0;',
};

/** A program and its packages as one script, and the files that it reads. */
async function bundled(name, packages) {
    const program = join(packages, `${name}.mjs`);
    const { resolve } = createRequire(program);
    const files = [];
    const path = (module) => {
        files.push(resolve(module));
        return JSON.stringify(resolve(module));
    };
    const source = readFileSync(program, 'utf8')
        .replace(/createRequire\(import\.meta\.url\)\.resolve\('([^']+)'\)/g, (_, module) => path(module))
        .replace('createRequire(import.meta.url)(', 'require(');
    const plugin = {
        name: 'node',
        setup(build) {
            build.onResolve({ filter: /depth\.mjs$/ }, () => ({ path: 'depth', namespace: 'node' }));
            build.onResolve({ filter: /^(node:.*|fs|path|url|crypto|module|worker_threads)$/ }, ({ path }) => ({ path, namespace: 'node' }));
            build.onLoad({ filter: /.*/, namespace: 'node' }, ({ path }) => ({ contents: NODE[path] ?? 'export default {};', loader: 'js' }));
        },
    };
    const banner = 'globalThis.Buffer ??= { from: () => "", isBuffer: () => false };';
    const stdin = { contents: source, resolveDir: packages, loader: 'js' };
    const { outputFiles } = await build({ stdin, bundle: true, write: false, format: 'esm', platform: 'browser', target: 'esnext', logLevel: 'silent', banner: { js: banner }, plugins: [plugin] });
    return { app: outputFiles[0].text, files: Object.fromEntries(files.map((file) => [`/file${file}`, readFileSync(file)])) };
}

const browser = wanted ? await launch() : undefined;
after(() => browser?.close());

for (const name of PROGRAMS) {
    test(name, { skip: wanted ? false : 'KPERF_PROGRAMS=all asks for it' }, async () => {
        const packages = fetched();
        assert.ok(packages, `no packages in the cache: KPERF_PROGRAMS=all cargo test --release --test programs, in ${ROOT}`);
        const inNode = join(work, `${name}.node.kperf`);
        const env = { ...process.env, KPERF_TRACE: inNode, KPERF_CLOCK: 'instructions' };
        const { status, stderr } = spawnSync(process.execPath, ['--no-warnings', '--import', register, `${name}.mjs`], { cwd: packages, env, encoding: 'utf8' });
        assert.equal(status, 0, stderr);
        const expected = table(inNode);
        assert.ok(expected.length > 20);

        const { app, files } = await bundled(name, packages);
        const tag = '<script src="/dist/kperf.js" data-clock="instructions" data-probe="auto"></script>';
        const run = 'import("/app.mjs").then(() => kperf.finish())';
        const trace = join(work, `${name}.kperf`);
        const chromium = await serve({ '/': page(`globalThis.result = ${run}.then(async () => ({ trace: await encoded(kperf.blob()) }))`, tag), '/app.mjs': app, ...files }, { isolated: true });
        writeFileSync(trace, Buffer.from((await open(browser, chromium.url)).result.trace));
        await chromium.close();
        assert.deepEqual(table(trace), expected);
        if (!isHere) return;
        const posted = `${run}.then(() => fetch('/result', { method: 'POST', body: kperf.blob() })).catch((error) => fetch('/result', { method: 'POST', body: String(error.stack) }))`;
        const firefox = await serve({ '/': page(posted, tag), '/app.mjs': app, ...files }, { isolated: true });
        const { body } = await visit(firefox.url, () => firefox.posts.find(({ trace }) => trace === undefined));
        await firefox.close();
        writeFileSync(trace, body);
        assert.deepEqual(table(trace), expected);
    });
}
