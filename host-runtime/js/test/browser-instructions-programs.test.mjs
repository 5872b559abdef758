// Instruction counts of published programs, in pages and in node. Runs with KPERF_PROGRAMS=all, for which
// tests/conformance/programs fetches the packages.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { launch, open } from './support/chromium.mjs';
import { folder, kperf, PACKAGE, ROOT } from './support/cli.mjs';
import { isHere, visit } from './support/firefox.mjs';
import { page } from './support/pages.mjs';
import { serve } from './support/server.mjs';

/**
 * They ask for no time and no random number, and do the same in a page: no files, no arguments, no screen. Nothing of theirs is freed when
 * JavaScript's collector says so.
 */
const PROGRAMS = [
    'canvaskit', 'ghostty', 'graphviz', 'hash-wasm', 'oniguruma', 'rabin', 'tree-sitter', 'wabt', 'yoga', 'zxing',
];
const wanted = process.env.KPERF_PROGRAMS === 'all';
const work = folder();
const register = pathToFileURL(join(PACKAGE, 'dist/node/register.js')).href;

/** Where the packages are. */
function fetched() {
    const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'kperf-wasm');
    const found =
        existsSync(cache) ? readdirSync(cache).filter((name) => existsSync(join(cache, name, 'rabin.mjs'))) : [];
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
        request.open('GET', path, false);
        request.overrideMimeType('text/plain; charset=x-user-defined');
        request.send();
        return Uint8Array.from(request.responseText, (char) => char.charCodeAt(0));
    }`,
    'node:module': 'export const createRequire = () => undefined;',
    'node:crypto': 'export const createHash = () => ({ update: () => ({ digest: () => "" }) });',
    assert: 'export const strictEqual = () => {};',
    url: 'export const pathToFileURL = (path) => new URL(path, location.href);',
    util: 'export const { TextDecoder, TextEncoder } = globalThis;',
    path: 'export const join = (...parts) => parts.join("/");',
    depth: 'export const [depth, close] = [() => 0, () => {}];',
};
NODE.fs = NODE['node:fs'];

/** A file of a package as a page sees it, and what of it asks where it is. */
function inPage(file, packages) {
    const path = JSON.stringify(`/packages/${relative(packages, file)}`);
    const folder = JSON.stringify(`/packages/${relative(packages, dirname(file))}`);
    return readFileSync(file, 'utf8')
        .replace(/\bimport\.meta\.url\b/g, `new URL(${path}, location.href).href`)
        .replace(/\b__filename\b/g, path)
        .replace(/\b__dirname\b/g, folder)
        .replace(/require\(String\.raw`([^`]*)`\)/g, 'require("$1")');
}

/** A program and its packages as one script. */
async function bundled(name, packages) {
    const program = join(packages, `${name}.mjs`);
    const { resolve } = createRequire(program);
    const path = (module) => JSON.stringify(`/packages/${relative(packages, resolve(module))}`);
    const source = readFileSync(program, 'utf8')
        .replace('const require = createRequire(import.meta.url);', '')
        .replace(/(?:createRequire\(import\.meta\.url\)|\brequire)\.resolve\('([^']+)'\)/g, (_, module) => path(module))
        .replace(/\brequire\.resolve\(`/g, '(`/packages/node_modules/')
        .replace('createRequire(import.meta.url)(', 'require(');
    const plugin = {
        name: 'node',
        setup(build) {
            build.onResolve({ filter: /depth\.mjs$/ }, () => ({ path: 'depth', namespace: 'node' }));
            build.onResolve(
                { filter: /^(node:.*|assert|fs|fs\/promises|path|url|util|crypto|module|worker_threads)$/ },
                ({ path }) => ({ path, namespace: 'node' }),
            );
            build.onLoad(
                { filter: /.*/, namespace: 'node' },
                ({ path }) => ({ contents: NODE[path] ?? 'export default {};', loader: 'js' }),
            );
            build.onLoad(
                { filter: /\.[cm]?js$/, namespace: 'file' },
                ({ path }) => ({ contents: inPage(path, packages), loader: 'js' }),
            );
        },
    };
    const banner = `globalThis.Buffer ??= {
        from: (data) => (typeof data === 'string' ? new TextEncoder().encode(data) : new Uint8Array(data)),
        isBuffer: () => false,
    };`;
    const stdin = { contents: source, resolveDir: packages, loader: 'js' };
    const { outputFiles } = await build({
        stdin, bundle: true, write: false, format: 'esm', platform: 'browser', target: 'esnext', logLevel: 'silent',
        banner: { js: banner }, plugins: [plugin],
    });
    return outputFiles[0].text;
}

const browser = wanted ? await launch() : undefined;
after(() => browser?.close());

for (const name of PROGRAMS) {
    test(name, { skip: wanted ? false : 'KPERF_PROGRAMS=all asks for it' }, async () => {
        const packages = fetched();
        assert.ok(
            packages,
            `no packages in the cache: KPERF_PROGRAMS=all cargo test --release --test main programs::, in ${ROOT}`,
        );
        const inNode = join(work, `${name}.node.kperf`);
        const env = { ...process.env, KPERF_TRACE: inNode, KPERF_CLOCK: 'instructions' };
        const { status, stderr } = spawnSync(
            process.execPath, ['--no-warnings', '--import', register, `${name}.mjs`],
            { cwd: packages, env, encoding: 'utf8' },
        );
        assert.equal(status, 0, stderr);
        const expected = table(inNode);
        assert.ok(expected.length > 20);

        const app = await bundled(name, packages);
        const tag = '<script src="/dist/kperf.js" data-clock="instructions" data-probe="auto"></script>';
        const run = 'import("/app.mjs").then(() => kperf.finish())';
        const trace = join(work, `${name}.kperf`);
        const chromium = await serve({
            '/': page(`globalThis.result = ${run}.then(async () => ({ trace: await encoded(kperf.blob()) }))`, tag),
            '/app.mjs': app,
        }, { isolated: true, packages });
        writeFileSync(trace, Buffer.from((await open(browser, chromium.url)).result.trace));
        await chromium.close();
        assert.deepEqual(table(trace), expected);
        if (!isHere) return;
        const posted = `${run}.then(() => fetch('/result', { method: 'POST', body: kperf.blob() })).catch((error) => fetch('/result', { method: 'POST', body: String(error.stack) }))`;
        const firefox = await serve({ '/': page(posted, tag), '/app.mjs': app }, { isolated: true, packages });
        const { body } = await visit(firefox.url, () => firefox.posts.find(({ trace }) => trace === undefined));
        await firefox.close();
        writeFileSync(trace, body);
        assert.deepEqual(table(trace), expected);
    });
}
