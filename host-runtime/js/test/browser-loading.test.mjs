// Modules without probes in pages: the script adds probes when they are loaded, and the page runs as before.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { launch, open } from './support/chromium.mjs';
import { folder, kperf, ROOT } from './support/cli.mjs';
import { effort } from './support/effort.mjs';
import { page } from './support/pages.mjs';
import { serve } from './support/server.mjs';

const work = folder();
const life = readFileSync(join(ROOT, 'examples/game-of-life/rust/life.wasm'));
const browser = await launch();
after(() => browser.close());

const report = (trace) => JSON.parse(kperf('report', trace, '--format', 'json'));
const callsOf = (trace, name) => report(trace).functions.find((f) => f.name === name)?.calls;
const tag = (attributes = 'data-probe="auto"') => `<script src="/dist/kperf.js" ${attributes}></script>`;
const SHOWN = `JSON.stringify([WebAssembly.Module.imports(module), WebAssembly.Module.exports(module), ['name', 'kperf.symbols'].map((name) => WebAssembly.Module.customSections(module, name).map((section) => section.byteLength)), Object.keys(instance.exports), Object.isFrozen(instance.exports), module.constructor === WebAssembly.Module, instance instanceof WebAssembly.Instance])`;

/** A page that makes an instance in some way, and says what it sees of it. */
const looking = (how, head) => page(`
    globalThis.result = (async () => {
        let text = '';
        const out = ConsoleStdout.lineBuffered((line) => (text += line));
        const wasi = new WASI(['life', '5'], [], [new OpenFile(new File([])), out, out]);
        const imports = { wasi_snapshot_preview1: wasi.wasiImport };
        const bytes = async () => (await fetch('/life.wasm')).arrayBuffer();
        ${how}
        wasi.start(instance);
        const shown = ${SHOWN};
        const recorder = Object.getOwnPropertyDescriptor(globalThis, 'kperf') && globalThis.kperf;
        if (recorder) await recorder.finish();
        return { text, shown, trace: recorder && (await encoded(recorder.blob())) };
    })();`, head);

/**
 * Opens a page in a context of its own, or that of another; what it said on its console, and how many workers it began.
 */
async function visit(html, { isolated = true, files = {}, context, expected = '' } = {}) {
    const server = await serve({ '/': html, '/life.wasm': life, ...files }, { isolated });
    const own = context ?? (await browser.newContext());
    try {
        const opened = await own.newPage();
        const said = [];
        opened.on('console', (message) =>
            (message.type() === 'error' || message.text().startsWith('kperf')) && said.push(message.text()));
        opened.on('pageerror', (error) => said.push(String(error)));
        await opened.goto(server.url);
        const result = await opened.evaluate(() => globalThis.result);
        const path = join(work, 'page.kperf');
        if (result.trace) writeFileSync(path, Buffer.from(result.trace));
        const told = said.filter((line) => !line.includes('every event reads the clock'));
        if (expected === '') assert.deepEqual(told, []);
        else assert.equal(told.some((line) => line.includes(expected)), true, told.join('\n'));
        await opened.close();
        return { ...result, path };
    } finally {
        await server.close();
        if (!context) await own.close();
    }
}

const WAYS = {
    instantiateStreaming: `const { module, instance } = await WebAssembly.instantiateStreaming(fetch('/life.wasm'), imports);`,
    'instantiate(bytes)': `const { module, instance } = await WebAssembly.instantiate(await bytes(), imports);`,
    'compileStreaming, new Instance': `const module = await WebAssembly.compileStreaming(fetch('/life.wasm')); const instance = new WebAssembly.Instance(module, imports);`,
    compile: `const module = await WebAssembly.compile(await bytes()); const instance = await WebAssembly.instantiate(module, imports);`,
};
for (const isolated of [true, false]) {
    for (const [name, how] of Object.entries(WAYS).slice(isolated ? 0 : effort(3, 0))) {
        test(`${name} in ${isolated ? 'an isolated page' : 'any other page'}`, async () => {
            const plain = await visit(looking(how, ''), { isolated });
            const { text, shown, path } = await visit(looking(how, tag()), { isolated });
            assert.deepEqual([text, shown], [plain.text, plain.shown]);
            assert.equal(text, '5 steps, 19 live cells');
            assert.equal(callsOf(path, 'life::is_valid_position'), 16_000);
        });
    }
}

/** Makes other instances before that one. */
const MANY = `
    const module = await WebAssembly.compile(await bytes());
    for (let n = 0; n < 79; n++) {
        const other = new WASI(['life', '1'], [], [new OpenFile(new File([])), ConsoleStdout.lineBuffered(() => {}), out]);
        const imports = { wasi_snapshot_preview1: other.wasiImport };
        other.start(await WebAssembly.instantiate(module, imports));
    }
    const instance = await WebAssembly.instantiate(module, imports);`;
for (const record of ['trace', 'profile']) {
    test(`a ${record} has all calls of many instances, which share a recorder`, async () => {
        const { path } = await visit(looking(MANY, tag(`data-probe="auto" data-record="${record}"`)));
        assert.equal(callsOf(path, 'life::is_valid_position'), 79 * 3_200 + 16_000);
        const lanes = Number(/^lanes +(\d+)/m.exec(kperf('info', path))[1]);
        assert.equal(lanes, 9, kperf('info', path));
    });
}

test('filters are those of the command', async () => {
    const { path } = await visit(looking(WAYS.compile, tag('data-probe="import" data-only="life::is_*"')));
    assert.deepEqual(report(path).functions.map(({ name }) => name), ['life::is_valid_position']);
});

test('a page that was here before has its modules already', async () => {
    const context = await browser.newContext();
    const server = await serve({ '/': looking(WAYS.compile, tag()), '/life.wasm': life }, { isolated: true });
    const opened = await context.newPage();
    const begun = [];
    for (let n = 0; n < 2; n++) {
        let workers = 0;
        opened.on('worker', () => workers++);
        await opened.goto(server.url);
        const { trace } = await opened.evaluate(() => globalThis.result);
        writeFileSync(join(work, 'again.kperf'), Buffer.from(trace));
        assert.equal(callsOf(join(work, 'again.kperf'), 'life::is_valid_position'), 16_000);
        begun.push(workers);
    }
    // Its ticker, and the first time the rewriter.
    assert.deepEqual(begun, [2, 1]);
    await context.close();
    await server.close();
});

const SYNC = `const module = new WebAssembly.Module(await bytes()); const instance = new WebAssembly.Instance(module, imports);`;
for (const [name, { how = WAYS.compile, head = tag(), expected, files }] of Object.entries({
    'no place for its worker': {
        head: `<meta http-equiv="Content-Security-Policy" content="worker-src 'self'">${tag()}`,
        expected: 'runs without probes: its worker was refused',
    },
    'no rewriter': {
        head: tag('data-probe="auto" data-rewriter="/nowhere.wasm"'), expected: "runs without probes: http://127.0.0.1",
    },
    'a rewriter that is none': {
        head: tag('data-probe="auto" data-rewriter="/other.wasm"'), files: { '/other.wasm': 'nothing' },
        expected: 'runs without probes: ',
    },
    'a bad pattern': {
        head: tag('data-probe="auto" data-only="a[b"'), expected: 'runs without probes: bad pattern `a[b`',
    },
    'a page that does not wait': { how: SYNC, expected: 'runs without probes: the page compiles it synchronously' },
})) {
    test(`the page runs as it did: ${name}`, async () => {
        const { text } = await visit(looking(how, head), { expected, files });
        assert.equal(text, '5 steps, 19 live cells');
    });
}

test('workers of the page do it too', async () => {
    const worker = `
        addEventListener('message', async () => {
            const { instance } = await WebAssembly.instantiateStreaming(fetch('calls.wasm'), { host: { call() {} } });
            for (let n = 0; n < 5; n++) instance.exports.leaf();
            postMessage(WebAssembly.Module.imports(await WebAssembly.compileStreaming(fetch('calls.wasm'))).length);
        });`;
    const { default: wabt } = await import('wabt');
    const module =
        (await wabt()).parseWat('calls.wat', readFileSync('test/programs/calls.wat', 'utf8'), { tail_call: true });
    const calls = Buffer.from(module.toBinary({ write_debug_names: true }).buffer);
    const html = `<!doctype html>${tag('data-probe="auto" data-post="/traces"')}<script type="module">
        globalThis.result = new Promise((resolve, reject) => {
            const worker = new Worker('worker.js');
            worker.onmessage = ({ data }) => resolve(data);
            worker.onerror = ({ message }) => reject(new Error(message));
            worker.postMessage(0);
        });</script>`;
    const server = await serve({ '/': html, '/worker.js': worker, '/calls.wasm': calls }, { isolated: true });
    const { page: opened, result } = await open(browser, server.url);
    assert.equal(result, WebAssembly.Module.imports(new WebAssembly.Module(calls)).length);
    let found;
    for (let n = 0; n < 100 && found !== 5; n++) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        if (server.posts.length === 0) continue;
        writeFileSync(join(work, 'worker.kperf'), server.trace());
        found = callsOf(join(work, 'worker.kperf'), 'leaf');
    }
    await opened.close();
    await server.close();
    assert.equal(found, 5);
});
