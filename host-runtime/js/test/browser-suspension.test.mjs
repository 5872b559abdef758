// Suspended guests: by JSPI in a page and in the current node, by asyncify anywhere.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { launch, open } from './support/chromium.mjs';
import { folder, hasMultiMemory, kperf, PACKAGE, PROBE, probed, replay } from './support/cli.mjs';
import { serve } from './support/server.mjs';
import { EXPECTED } from './programs/suspend.mjs';

const work = folder();
const wait = join(work, 'wait.wasm');
probed('test/programs/wait.wat', wait);
const skip = PROBE === 'inline' && !hasMultiMemory && 'this node gives a module one memory';
const current = join(PACKAGE, 'node_modules/node-current/bin/node');
const RESULTS = [30, 'no', 9];

/** The calls by stack. */
function byStack(trace) {
    const stacks = {};
    for (const line of replay(trace).split('\n').slice(1, -1)) {
        const [, stack, text] = /\[0(?:\.(\d+))?\]\| (.*?)\s*$/.exec(line);
        (stacks[stack ?? 0] ??= []).push(text);
    }
    return stacks;
}

test('JSPI in node', () => {
    const trace = join(work, 'node.kperf');
    writeFileSync(join(work, 'suspend.mjs'), `
        import { readFileSync } from 'node:fs';
        import { suspend } from '${pathToFileURL(join(PACKAGE, 'test/programs/suspend.mjs'))}';
        console.log(JSON.stringify(await suspend(readFileSync(${JSON.stringify(wait)}), WebAssembly)));`);
    const register = pathToFileURL(join(PACKAGE, 'dist/node/register.js')).href;
    const options = ['--no-warnings', '--import', register, join(work, 'suspend.mjs')];
    const env = { ...process.env, KPERF_TRACE: trace };
    const { stdout, stderr } = spawnSync(current, options, { encoding: 'utf8', env });
    assert.equal(stdout, `${JSON.stringify(RESULTS)}\n`, stderr);
    assert.deepEqual(byStack(trace), EXPECTED);
});

test('JSPI in a page, and by hand', async () => {
    const browser = await launch();
    after(() => browser.close());
    const result = (run) => `globalThis.result = (async () => {
        ${run}
        await kperf.finish();
        return { results, trace: Array.from(new Uint8Array(await kperf.blob().arrayBuffer())) };
    })();`;
    const head =
        "import { suspend } from '/suspend.mjs'; const bytes = await (await fetch('/wait.wasm')).arrayBuffer();";
    const zeroCode = result('const results = await suspend(bytes, WebAssembly);');
    const byHand = result(`
        const kperf = createRecorder();
        const results = await suspend(bytes, {
            Suspending: function (call) { return kperf.suspending(call); },
            promising: (call) => kperf.promising(call),
            instantiate: async (bytes, imports) => kperf.instantiate(bytes, imports),
        });`);
    const pages = [
        `<!doctype html><script src="/dist/kperf.js"></script><script type="module">${head}${zeroCode}</script>`,
        `<!doctype html><script type="module">import { createRecorder } from '/dist/browser/index.js';${head}${byHand}</script>`,
    ];
    for (const page of pages) {
        const files = {
            '/': page, '/wait.wasm': readFileSync(wait), '/suspend.mjs': readFileSync('test/programs/suspend.mjs'),
        };
        const server = await serve(files);
        const { page: opened } = await open(browser, server.url);
        await opened.waitForFunction(() => globalThis.result);
        const { results, trace } = await opened.evaluate(() => globalThis.result);
        await server.close();
        assert.deepEqual(results, RESULTS);
        const path = join(work, 'page.kperf');
        writeFileSync(path, Buffer.from(trace));
        assert.deepEqual(byStack(path), EXPECTED);
    }
});

test('asyncify: a function that is resumed is entered again', { skip }, () => {
    const asyncified = join(work, 'asyncified.wasm');
    const text = join(work, 'wait.wat');
    // asyncify's state is at address 0.
    const source = readFileSync('test/programs/wait.wat', 'utf8').replace(/\)\s*$/, '(memory (export "memory") 1))');
    writeFileSync(text, source);
    execFileSync(
        process.execPath,
        [join(PACKAGE, 'node_modules/binaryen/bin/wasm-opt'), text, '--asyncify', '-g', '-o', asyncified],
    );
    probed(asyncified, join(work, 'asyncified.probed.wasm'));
    const trace = join(work, 'asyncify.kperf');
    writeFileSync(join(work, 'asyncify.mjs'), `
        import { readFileSync } from 'node:fs';
        let value;
        let exports;
        const wait = (n) => {
            if (exports.asyncify_get_state() === 2) {
                exports.asyncify_stop_rewind();
                return value;
            }
            value = n + 1;
            exports.asyncify_start_unwind(16);
            return 0;
        };
        ({ exports } = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(${JSON.stringify(join(work, 'asyncified.probed.wasm'))})), { host: { wait } }));
        new Int32Array(exports.memory.buffer, 16, 2).set([24, 1024]);
        let result = exports.slow(1);
        while (exports.asyncify_get_state() === 1) {
            exports.asyncify_stop_unwind();
            await new Promise((resolve) => setTimeout(resolve, 1));
            exports.leaf();
            exports.asyncify_start_rewind(16);
            result = exports.slow(1);
        }
        console.log(result);`);
    const register = pathToFileURL(join(PACKAGE, 'dist/node/register.js')).href;
    const env = { ...process.env, KPERF_TRACE: trace };
    const { stdout, stderr } = spawnSync(
        process.execPath, ['--no-warnings', '--import', register, join(work, 'asyncify.mjs')],
        { encoding: 'utf8', env },
    );
    assert.equal(stdout, '3\n', stderr);
    const lines = replay(trace, '--skip', 'asyncify_*')
        .split('\n')
        .slice(1, -1)
        .map((line) => line.replace(/^.*\| /, '').trimEnd());
    assert.deepEqual(lines, [
        'slow() {', '  leaf();', '  once();', '} /* slow */', 'leaf();',
        'slow() {', '  once();', '  once();', '} /* slow */', 'leaf();',
        'slow() {', '  once();', '  leaf();', '} /* slow */',
    ]);
    assert.equal(JSON.parse(kperf('report', trace, '--format', 'json')).functions.some((f) => f.unwound > 0), false);
});
