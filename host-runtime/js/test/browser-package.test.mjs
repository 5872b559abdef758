// What is published: nothing but what it should be, and it works from a plain install, in a Vite app and a script tag.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { launch, open } from './support/chromium.mjs';
import { folder, kperf, PACKAGE, probed } from './support/cli.mjs';
import { serve } from './support/server.mjs';

const work = folder();
const npm = (cwd, ...args) => execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
npm(PACKAGE, 'pack', '--ignore-scripts', '--pack-destination', work);
const [tarball] = readdirSync(work).filter((name) => name.endsWith('.tgz'));
const app = join(work, 'app');
mkdirSync(app);
writeFileSync(join(app, 'package.json'), JSON.stringify({ name: 'app', private: true, type: 'module' }));
npm(app, 'install', '--offline', '--no-audit', '--no-fund', join('..', tarball));
const calls = probed('test/programs/calls.wat', join(app, 'calls.wasm'));
const installed = join(app, 'node_modules/kperf-wasm');
const browser = await launch();
after(() => browser.close());

test('the package has what it should have, and nothing else', () => {
    const files = readdirSync(installed, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const paths = files.map((entry) => join(entry.path, entry.name).slice(installed.length + 1)).sort();
    const others = paths.filter((path) => !/^dist\/(common|node|browser)\/[a-z0-9-]+(\.d\.ts|\.js)$/.test(path));
    assert.deepEqual(others, ['LICENSE-APACHE', 'LICENSE-MIT', 'README.md', 'dist/core.wasm', 'dist/kperf.js', 'package.json']);
    const { dependencies, exports } = JSON.parse(readFileSync(join(installed, 'package.json')));
    assert.equal(dependencies, undefined);
    const targets = JSON.stringify(exports).match(/\.\/[^"]+\.(js|ts|json)/g).filter((path) => path.startsWith('./dist'));
    for (const target of targets) assert.equal(paths.includes(target.slice(2)), true, target);
    assert.equal(readFileSync(join(installed, 'dist/kperf.js')).length < 65_536, true);
});

test('node takes it by its name', () => {
    writeFileSync(join(app, 'run.mjs'), `
        import { readFileSync } from 'node:fs';
        const { instance } = await WebAssembly.instantiate(readFileSync('calls.wasm'), { host: { call() {} } });
        instance.exports.outer(1);`);
    const { status, stderr } = spawnSync(process.execPath, ['--import', 'kperf-wasm/register', 'run.mjs'], { cwd: app, encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    assert.match(kperf('replay', join(app, 'run.kperf')), /inner\(\);/);
});

test('its types are complete', () => {
    writeFileSync(join(app, 'types.mts'), `
        import { createRecorder, type Summary } from 'kperf-wasm';
        const kperf = createRecorder({ path: 'x.kperf', clock: 'precise' });
        const summary: Promise<Summary> = kperf.finish();
        const value: number = kperf.span('x', () => 5);
        void [summary, value];`);
    symlinkSync(join(PACKAGE, 'node_modules/@types'), join(app, 'node_modules/@types'));
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--types', 'node', 'types.mts'];
    const { status, stdout } = spawnSync(process.execPath, [join(PACKAGE, 'node_modules/typescript/bin/tsc'), ...options], { cwd: app, encoding: 'utf8' });
    assert.equal(status, 0, stdout);
});

/** Opens a page and answers the calls that it has recorded. */
async function visit(files) {
    const server = await serve(files, { isolated: true });
    const { result } = await open(browser, server.url);
    await server.close();
    const path = join(work, 'page.kperf');
    writeFileSync(path, Buffer.from(result));
    return JSON.parse(kperf('report', path, '--format', 'json')).functions.map(({ name, calls }) => `${name} ${calls}`).sort();
}

const EXPECTED = ['inner 1', 'leaf 1', 'outer 1'];
const PROGRAM = `
    globalThis.result = (async () => {
        const { instance } = await WebAssembly.instantiateStreaming(fetch('/calls.wasm'), { host: { call() {} } });
        instance.exports.outer(1);
        await kperf.finish();
        return Array.from(new Uint8Array(await kperf.blob().arrayBuffer()));
    })();`;

test('a script tag is enough', async () => {
    const script = readFileSync(join(installed, 'dist/kperf.js'));
    const page = `<!doctype html><script src="/kperf.js"></script><script type="module">${PROGRAM}</script>`;
    assert.deepEqual(await visit({ '/': page, '/kperf.js': script, '/calls.wasm': calls }), EXPECTED);
});

test('so is an import in a Vite app', async () => {
    writeFileSync(join(app, 'index.html'), '<!doctype html><script type="module" src="/main.js"></script>');
    writeFileSync(join(app, 'main.js'), `import 'kperf-wasm/register';\n${PROGRAM}`);
    execFileSync(process.execPath, [join(PACKAGE, 'node_modules/vite/bin/vite.js'), 'build', '--logLevel', 'warn'], { cwd: app });
    const built = join(app, 'dist');
    cpSync(join(app, 'calls.wasm'), join(built, 'calls.wasm'));
    const files = { '/': readFileSync(join(built, 'index.html')), '/calls.wasm': calls };
    for (const name of readdirSync(join(built, 'assets'))) files[`/assets/${name}`] = readFileSync(join(built, 'assets', name));
    assert.deepEqual(await visit(files), EXPECTED);
});
