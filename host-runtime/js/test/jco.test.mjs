// Components, translated by jco, in node under `register` and in a page with the script's tag: they work as before,
// with wasmtime's call counts.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { transpile } from '@bytecodealliance/jco-transpile';
import { build } from 'esbuild';
import { launch, open } from './support/chromium.mjs';
import { CLI, folder, kperf, PACKAGE, ROOT } from './support/cli.mjs';
import { serve } from './support/server.mjs';

const work = folder();
writeFileSync(join(work, 'package.json'), '{"type": "module"}');
symlinkSync(join(PACKAGE, 'node_modules'), join(work, 'node_modules'));
for (const name of ['command', 'library']) {
    const { files } = await transpile(join(ROOT, `examples/components/${name}.wasm`), { name, outDir: name });
    for (const [file, content] of Object.entries(files)) {
        const path = join(work, file);
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, content);
    }
}
/** The program's own calls; jco's shims differ from wasmtime's host functions. */
const callsOf = (trace, own) => JSON.parse(kperf('report', trace, '--format', 'json')).functions
    .filter(({ name }) => own.test(name)).map(({ name, calls }) => `${name} ${calls}`).sort();

/** Runs a program with and without the recorder, with equal output. */
function recorded(name, program, ...args) {
    writeFileSync(join(work, `run-${name}.mjs`), program);
    const run = (...flags) => spawnSync(process.execPath, ['--no-warnings', ...flags, `run-${name}.mjs`, ...args], {
        cwd: work, encoding: 'utf8', env: {
            ...process.env, KPERF_CACHE: '0', KPERF_TRACE: `${name}.kperf`, KPERF_QUIET: '1',
        },
    });
    const plain = run();
    assert.equal(plain.status, 0, plain.stderr);
    const { status, stdout, stderr } = run('--import', join(PACKAGE, 'dist/node/register.js'));
    assert.deepEqual({ status, stdout, stderr }, { status: 0, stdout: plain.stdout, stderr: plain.stderr });
    return { stdout, trace: join(work, `${name}.kperf`) };
}

/** The same component under wasmtime. */
function underWasmtime(name, ...args) {
    const trace = join(work, `${name}.wasmtime.kperf`);
    const { status, stdout, stderr } = spawnSync(
        CLI, ['run', join(ROOT, `examples/components/${name}.wasm`), '-q', '--trace', trace, ...args],
        { encoding: 'utf8' },
    );
    assert.equal(status, 0, stderr);
    return { stdout, trace };
}

test('a command in node', () => {
    const args = ['15', 'a rose is a rose'];
    const here = recorded('command', `import { run } from './command/command.js';\nrun.run();`, ...args);
    const there = underWasmtime('command', '--', ...args);
    assert.equal(here.stdout, there.stdout);
    const own = /^<?command::/;
    assert.ok(callsOf(here.trace, own).some((row) => / \d{3,}$/.test(row)), callsOf(here.trace, own).join());
    assert.deepEqual(callsOf(here.trace, own), callsOf(there.trace, own));
});

const USE = `[[...cart.primes(20)], cart.reverse('abc'), String(cart.total([{ name: 'tea', price: 3, count: 4 }], { tag: 'percent', val: 50 }))]`;
const EXPECTED = [[2, 3, 5, 7, 11, 13, 17, 19], 'cba', '6'];
const OWN = /^library::|^<library::Shop/;

test('a library in node and in a page', async (t) => {
    const here =
        recorded('library', `import { cart } from './library/library.js';\nconsole.log(JSON.stringify(${USE}));`);
    assert.deepEqual(JSON.parse(here.stdout), EXPECTED);
    const calls = callsOf(here.trace, OWN);
    const { trace } = underWasmtime('library', '--invoke', 'demo:shop/cart#primes(20)');
    const tests = (trace) => callsOf(trace, /is_prime/);
    assert.deepEqual(tests(here.trace), tests(trace));

    writeFileSync(join(work, 'page.js'), `import { cart } from './library/library.js';\nexport const result = ${USE};`);
    const app = join(work, 'app');
    await build({
        entryPoints: [join(work, 'page.js')], outdir: app, bundle: true, format: 'esm', platform: 'browser',
        external: ['node:*'], logLevel: 'error',
    });
    const files = Object.fromEntries(readdirSync(join(work, 'library'))
        .filter((name) => name.endsWith('.wasm'))
        .map((name) => [`/${name}`, readFileSync(join(work, 'library', name))]));
    const page = (head) =>
        `<!doctype html><link rel="icon" href="data:,">${head}<script>globalThis.result = import('./page.js').then(({ result }) => result);</script>`;
    for (const name of ['kperf.js', 'rewriter.wasm', 'worklet.js']) {
        files[`/${name}`] = readFileSync(join(PACKAGE, 'dist', name));
    }
    const tag = '<script src="kperf.js" data-probe="auto" data-post="/traces"></script>';
    const server = await serve(
        { ...files, '/page.js': readFileSync(join(app, 'page.js')), '/': page(''), '/recorded': page(tag) },
        { isolated: true },
    );
    t.after(() => server.close());
    const browser = await launch();
    after(() => browser.close());
    for (const path of ['', 'recorded']) {
        const { page, result } = await open(browser, server.url + path);
        assert.deepEqual(result, EXPECTED);
        const found = () => {
            if (server.posts.length === 0) return [];
            writeFileSync(join(work, 'page.kperf'), server.trace(server.posts[0].trace));
            return callsOf(join(work, 'page.kperf'), OWN);
        };
        for (let n = 0; path && n < 200 && found().length < calls.length; n++) {
            await new Promise((resolve) => setTimeout(resolve, 50));
        }
        assert.deepEqual(found(), path ? calls : []);
        await page.close();
    }
});
