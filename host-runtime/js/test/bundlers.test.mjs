// The plugins for bundlers, in real builds of an app and in Vite's development server. The app loads a module as its
// bundler provides it, in the page and in a worker.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import wabt from 'wabt';
import { launch, open } from './support/chromium.mjs';
import { folder, kperf, PACKAGE } from './support/cli.mjs';
import { serve } from './support/server.mjs';

const work = folder();
const browser = await launch();
after(() => browser.close());
const text = readFileSync(join(PACKAGE, 'test/programs/calls.wat'), 'utf8');
const calls = Buffer.from(
    (await wabt()).parseWat('calls.wat', text, { tail_call: true }).toBinary({ write_debug_names: true }).buffer,
);

/**
 * An app in a folder of its own, which imports this package by its name. `load`: makes an instance of the module with
 * `imports`.
 */
function app(name, load) {
    const path = join(work, name);
    mkdirSync(join(path, 'node_modules'), { recursive: true });
    symlinkSync(PACKAGE, join(path, 'node_modules/kperf-wasm'));
    const files = {
        'package.json': JSON.stringify({ type: 'module' }),
        'calls.wasm': calls,
        'worker.js': `${load}\nload({ host: { call() {} } }).then((instance) => { instance.exports.leaf(); postMessage('worker'); });`,
        'main.js': `${load}
            globalThis.result = (async () => {
                const instance = await load({ host: { call() {} } });
                instance.exports.outer(1);
                const worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
                const answer = await new Promise((resolve, reject) => {
                    worker.onmessage = ({ data }) => resolve(data);
                    worker.onerror = ({ message }) => reject(new Error(message));
                });
                return [answer, WebAssembly.Module.imports(await WebAssembly.compileStreaming(fetch(moduleUrl)))
                    .length];
            })();`,
        'index.html': '<!doctype html><html><head><title>app</title><link rel="icon" href="data:,"></head><body><script type="module" src="main.js"></script></body></html>',
    };
    for (const [file, content] of Object.entries(files)) writeFileSync(join(path, file), content);
    return path;
}
/** Loads the module by the bundler's URL. */
const BY_URL = (url) => `${url}
    const load = async (imports) => (await WebAssembly.instantiateStreaming(fetch(moduleUrl), imports)).instance;`;

/** The files of a folder, by their paths on the server. */
const filesOf = (path) => Object.fromEntries(readdirSync(path, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile(),
).map((entry) => {
    const file = join(entry.parentPath ?? entry.path, entry.name);
    return [file.slice(path.length), readFileSync(file)];
}));

const callsOf = (path) => JSON.parse(kperf('report', path, '--format', 'json')).functions
    .map(({ name, calls }) => `${name} ${calls}`)
    .sort()
    .join(', ');
const EXPECTED = ['inner 1, leaf 1, outer 1', 'leaf 1'];

/** Opens the built app, whose page and worker must be recorded. */
async function visit(built) {
    const files = filesOf(built);
    const server = await serve({ ...files, '/': files['/index.html'] }, { isolated: true });
    const { page, result } = await open(browser, server.url);
    assert.deepEqual(result, ['worker', 1]);
    const found = () => [...new Set(server.posts.map(({ trace }) => trace))].map((id) => {
        writeFileSync(join(work, 'page.kperf'), server.trace(id));
        return callsOf(join(work, 'page.kperf'));
    }).sort();
    for (let n = 0; n < 200 && found().join() !== EXPECTED.join(); n++) {
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.deepEqual(found(), EXPECTED);
    await page.close();
    await server.close();
}

const run = (cwd, script) => {
    const { status, stderr, stdout } =
        spawnSync(process.execPath, ['--input-type=module', '--eval', script], { cwd, encoding: 'utf8' });
    assert.equal(status, 0, stderr + stdout);
};
/** This package's bundlers. */
const from = (name) => JSON.stringify(import.meta.resolve(name));
const OPTIONS = `{ post: '/traces', clock: 'precise', only: ['*'] }`;

test('Vite builds it', async () => {
    const path = app('vite', BY_URL(`import moduleUrl from './calls.wasm?url';`));
    writeFileSync(
        join(path, 'vite.config.js'),
        `import kperf from 'kperf-wasm/vite';\nexport default { plugins: [kperf(${OPTIONS})], logLevel: 'warn', build: { assetsInlineLimit: 0 }, worker: { format: 'es' } };`,
    );
    run(path, `import { build } from ${from('vite')}; await build();`);
    await visit(join(path, 'dist'));
});

test("Vite's development server records to files", async () => {
    const path =
        app(
            'vite-dev',
            `import init from './calls.wasm?init';\nimport moduleUrl from './calls.wasm?url';\nconst load = (imports) => init(imports);`,
        );
    writeFileSync(
        join(path, 'vite.config.js'),
        `import kperf from 'kperf-wasm/vite';\nexport default { plugins: [kperf({ clock: 'precise', post: '/built/only' })] };`,
    );
    const { createServer } = await import('vite');
    const cwd = process.cwd();
    // Where traces go.
    process.chdir(path);
    const server = await createServer({ root: path, logLevel: 'silent', server: { port: 0, host: '127.0.0.1' } });
    try {
        await server.listen();
        const { page, result } = await open(
            browser, `http://127.0.0.1:${server.httpServer.address().port}/`, /504 \(Outdated/,
        );
        assert.deepEqual(result, ['worker', 1]);
        const found = () => [1, 2]
            .map((n) => join(path, `page-${n}.kperf`))
            .filter((file) => existsSync(file)).map((file) => {
            try {
                return callsOf(file);
            } catch {
                return '';
            }
        }).sort();
        for (let n = 0; n < 200 && found().join() !== EXPECTED.join(); n++) {
            await new Promise((resolve) => setTimeout(resolve, 50));
        }
        assert.deepEqual(found(), EXPECTED);
        assert.equal(await page.evaluate(() => crossOriginIsolated), true);
        await page.close();
    } finally {
        await server.close();
        process.chdir(cwd);
    }
});

test('Rollup bundles it', async () => {
    const path = app('rollup', BY_URL(`const moduleUrl = '/calls.wasm';`));
    run(path, `import { rollup } from ${from('rollup')};
        import kperf from 'kperf-wasm/rollup';
        for (const input of ['main.js', 'worker.js']) {
            const bundle = await rollup({ input, plugins: input === 'main.js' ? [kperf(${OPTIONS})] : [] });
            await bundle.write({ dir: 'dist' });
        }`);
    for (const file of ['index.html', 'calls.wasm']) cpSync(join(path, file), join(path, 'dist', file));
    await visit(join(path, 'dist'));
});

test('webpack bundles it', async () => {
    const path = app('webpack', BY_URL(`const moduleUrl = new URL('./calls.wasm', import.meta.url).href;`));
    run(path, `import webpack from ${from('webpack')};
        import KperfPlugin from 'kperf-wasm/webpack';
        const stats = await new Promise((resolve, reject) => webpack({
            mode: 'production', context: process.cwd(), entry: './main.js', plugins: [new KperfPlugin(${OPTIONS})],
        }, (error, stats) => (error ? reject(error) : resolve(stats))));
        if (stats.hasErrors()) throw new Error(stats.toString());`);
    cpSync(join(path, 'index.html'), join(path, 'dist/index.html'));
    await visit(join(path, 'dist'));
});

test('esbuild bundles it', async () => {
    for (const format of ['esm', 'iife']) {
        const path = app(
            `esbuild-${format}`,
            BY_URL(`import file from './calls.wasm';\nconst moduleUrl = new URL(file, location.href).href;`),
        );
        // It treats workers as entries.
        const main = readFileSync(join(path, 'main.js'), 'utf8').replace(
            `new URL('./worker.js', import.meta.url)`, `'/worker.js'`,
        );
        writeFileSync(join(path, 'main.js'), main);
        run(path, `import { build } from ${from('esbuild')};
            import kperf from 'kperf-wasm/esbuild';
            for (const entry of ['main.js', 'worker.js']) {
                await build({ entryPoints: [entry], bundle: true, outdir: 'dist',
                    format: '${format}', loader: { '.wasm': 'file' }, logLevel: 'warning', plugins: entry === 'main.js' ? [kperf(${OPTIONS})] : [] });
            }`);
        cpSync(join(path, 'index.html'), join(path, 'dist/index.html'));
        await visit(join(path, 'dist'));
    }
});
