// A page and the workers of its pool record into one trace, with one ticker or one sampler.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import wabt from 'wabt';
import { launch, open } from './support/chromium.mjs';
import { folder } from './support/cli.mjs';
import { effort } from './support/effort.mjs';
import { start } from './support/serve.mjs';

const work = folder();
const browser = await launch();
after(() => browser.close());

const WORKERS = effort(8, 32);
/** Calls of each worker. */
const CALLS = 5000;

const { parseWat } = await wabt();
const module = parseWat('pool.wat', `(module
    (import "env" "memory" (memory 1 1 shared))
    (func $leaf (param i32) (result i32) (i32.atomic.rmw.add (i32.const 0) (local.get 0)))
    (func (export "work") (param $n i32)
        (loop $again
            (drop (call $leaf (i32.const 1)))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))))`, { threads: true });
const wasm = Buffer.from(module.toBinary({ write_debug_names: true }).buffer);
/** As Emscripten's threads: each gets the module and the memory, and then tasks. */
const THREAD = `
    let work;
    onmessage = ({ data }) => {
        if (data.module) work = new WebAssembly.Instance(data.module, { env: { memory: data.memory } }).exports.work;
        else work(data.calls);
        postMessage(data.calls ?? 0);
    };`;
/** Makes a pool in a page or in its worker, and runs a task in each of its threads and here. */
const POOL = `
    async function pool(calls) {
        const memory = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });
        const module = await WebAssembly.compileStreaming(fetch('/pool.wasm'));
        const threads = Array.from({ length: ${WORKERS} }, () => new Worker('/thread.js'));
        const ask = (thread, message) => new Promise((resolve, reject) => {
            thread.onmessage = ({ data }) => resolve(data);
            thread.onerror = (event) => reject(new Error(event.message));
            thread.postMessage(message);
        });
        await Promise.all(threads.map((thread) => ask(thread, { module, memory })));
        const { work } = (await WebAssembly.instantiate(module, { env: { memory } })).exports;
        work(calls);
        await Promise.all(threads.map((thread) => ask(thread, { calls })));
        return { threads, sum: new Int32Array(memory.buffer)[0] };
    }`;
/** The number of pools, one after the other, whose memories a page has no room for at a time. */
const POOLS = Math.ceil(136 / WORKERS);
const PAGE = `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">`;
const FILES = {
    '/pool.wasm': wasm,
    '/thread.js': THREAD,
    '/manager.js': `${POOL} onmessage = async ({ data }) => postMessage((await pool(data)).sum);`,
};
const PAGES = {
    'a page': `pool(${CALLS}).then(({ sum }) => sum)`,
    'its worker': `new Promise((resolve) => {
        const manager = new Worker('/manager.js');
        manager.onmessage = ({ data }) => resolve(data);
        manager.postMessage(${CALLS});
    })`,
};

/** Serves the page by `kperf-wasm serve`, closes it when it is done, and returns the reports. */
async function record(script, ...flags) {
    const app = folder();
    const page = `${PAGE}<script>${POOL} globalThis.result = ${script};</script>`;
    for (const [path, content] of Object.entries({ ...FILES, '/index.html': page })) writeFileSync(join(app, path), content);
    const server = await start(work, app, ...flags);
    const { page: opened, result } = await open(browser, server.url);
    // Those of the recorder are blobs.
    const own = opened.workers().filter((worker) => worker.url().startsWith('blob:')).length;
    // A page that is closed at once may lose what busy workers have.
    await server.untilReported(([{ functions }]) => functions.some(({ name, calls }) => name === 'leaf' && calls === CALLS * (WORKERS + 1)));
    await opened.close();
    await server.until(/\bwork\b/);
    const { stdout, reports } = await server.end();
    return { result, own, reports, stdout };
}

for (const [where, script] of Object.entries(PAGES)) {
    for (const type of ['trace', 'profile']) {
        test(`a ${type} of a pool that ${where} makes`, async () => {
            const { result, own, reports, stdout } = await record(script, '--record', type);
            assert.equal(result, CALLS * (WORKERS + 1));
            assert.equal(reports.length, 1, stdout);
            const calls = Object.fromEntries(reports[0].functions.map(({ name, calls }) => [name, calls]));
            assert.deepEqual(calls, { leaf: CALLS * (WORKERS + 1), work: WORKERS + 1 }, stdout);
            assert.equal(own, 1);
            assert.equal(reports[0].lanes?.length ?? WORKERS + 1, WORKERS + 1);
        });
    }
}

test('a profile of pools that are terminated, one directly after the other', async () => {
    const script = `(async () => {
        for (let n = 0; n < ${POOLS}; n++) for (const thread of (await pool(100)).threads) thread.terminate();
        return 'done';
    })()`;
    writeFileSync(join(work, 'pool.wasm'), wasm);
    writeFileSync(join(work, 'thread.js'), THREAD);
    writeFileSync(join(work, 'index.html'), `${PAGE}<script>${POOL} globalThis.result = ${script};</script>`);
    const server = await start(work, work, '--record', 'profile');
    const { page, result } = await open(browser, server.url);
    assert.equal(result, 'done');
    const expected = POOLS * (WORKERS + 1);
    await server.untilReported(([{ functions }]) =>
        functions.some(({ name, calls }) => name === 'work' && calls === expected));
    await page.close();
    await server.end();
});
