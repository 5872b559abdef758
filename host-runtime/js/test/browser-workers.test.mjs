// Workers of a page, which know nothing of the recorder.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { launch, open } from './support/chromium.mjs';
import { folder, kperf, probed } from './support/cli.mjs';
import { serve } from './support/server.mjs';

const work = folder();
const calls = probed('test/programs/calls.wat', join(work, 'calls.wasm'));
const browser = await launch();
after(() => browser.close());

const WORKER = `
    addEventListener('message', async ({ data }) => {
        const { instance } = await WebAssembly.instantiateStreaming(fetch('calls.wasm'), { host: { call() {} } });
        for (let n = 0; n < data; n++) instance.exports.leaf();
        postMessage([twice(data), location.pathname]);
    });`;
const FILES = {
    '/deep/classic.js': `importScripts('twice.js');${WORKER}`,
    '/deep/module.js': `import './twice.js';${WORKER}`,
    '/deep/twice.js': 'globalThis.twice = (n) => 2 * n;',
    '/deep/calls.wasm': calls,
};

/** The reports of what was posted so far. */
function reportsOf({ posts, trace }) {
    return [...new Set(posts.map(({ trace }) => trace))].map((id) => {
        const path = join(work, `${id}.kperf`);
        writeFileSync(path, trace(id));
        return JSON.parse(kperf('report', path, '--format', 'json'));
    });
}

test('what a page does with blobs, and what its policy says of workers', async () => {
    const worker = 'onmessage = ({ data }) => postMessage(2 * data);';
    for (const [head, make] of [
        [
            '',
            `const url = URL.createObjectURL(new Blob([${JSON.stringify(worker)}])); const worker = new Worker(url); URL.revokeObjectURL(url);`,
        ],
        [
            '',
            `const url = URL.createObjectURL(new Blob([${JSON.stringify(worker)}], { type: 'text/javascript' })); const worker = new Worker(url, { type: 'module' }); URL.revokeObjectURL(url);`,
        ],
        [
            `<meta http-equiv="content-security-policy" content="default-src 'self'; script-src 'self' 'unsafe-inline'; worker-src 'self'">`,
            `const worker = new Worker('/twice.js');`,
        ],
        [
            `<meta http-equiv="Content-Security-Policy" content="script-src 'self' 'unsafe-inline'">`,
            `const worker = new Worker('/twice.js');`,
        ],
        [
            `<meta http-equiv="Content-Security-Policy" content="worker-src 'self' blob:">`,
            `const worker = new Worker('/twice.js');`,
        ],
        [
            `<meta http-equiv="Content-Security-Policy" content="script-src 'self' 'unsafe-inline'; worker-src 'self' blob:">`,
            `const worker = new Worker(URL.createObjectURL(new Blob([${JSON.stringify(worker)}])));`,
        ],
    ]) {
        const page = `<!doctype html>${head}<script src="/dist/kperf.js" data-post="/traces"></script><script>
            ${make}
            globalThis.result = new Promise((resolve, reject) => {
                worker.onmessage = ({ data }) => resolve(data);
                worker.onerror = ({ message }) => reject(new Error(message));
                worker.postMessage(21);
            });</script>`;
        const server = await serve({ '/': page, '/twice.js': worker }, { isolated: true });
        const { page: opened, result } = await open(browser, server.url);
        assert.equal(result, 42, head + make);
        await opened.close();
        await server.close();
    }
});

test('a worker that is not recorded runs the modules that it is sent', async () => {
    const worker = `onmessage = ({ data }) => { const { leaf } = new WebAssembly.Instance(data, { host: { call() {} } }).exports; leaf(); postMessage(typeof kperf); };`;
    const page = `<!doctype html><script src="/dist/kperf.js"></script><script type="module">
        const compiled = WebAssembly.compileStreaming(fetch('/deep/calls.wasm'));
        const ask = (worker) => new Promise((resolve, reject) => {
            worker.onmessage = ({ data }) => resolve(data);
            worker.onerror = (event) => reject(new Error(event.message));
            compiled.then((module) => worker.postMessage(module), reject);
        });
        const text = URL.createObjectURL(new Blob([${JSON.stringify(worker)}]));
        globalThis.result = Promise.all([ask(new Worker('/worker.js')), ask(new Worker('/worker.js',
            { type: 'module' })), ask(new Worker(text))]);</script>`;
    const server = await serve({ '/': page, '/worker.js': worker, ...FILES }, { isolated: true });
    const { page: opened, result } = await open(browser, server.url);
    assert.deepEqual(result, ['undefined', 'undefined', 'undefined']);
    await opened.close();
    await server.close();
});

for (const isolated of [true, false]) {
    test(`in ${isolated ? 'an isolated page' : 'any other page'}`, async () => {
        const page = `<!doctype html><script src="/dist/kperf.js" data-post="/traces"></script><script type="module">
            const ask = (worker, n) => new Promise((resolve, reject) => {
                worker.onmessage = ({ data }) => resolve(data);
                worker.onerror = (event) => reject(new Error(event.message));
                // Immediately, before it has loaded anything.
                worker.postMessage(n);
            });
            globalThis.result = Promise.all([
                ask(new Worker('deep/classic.js'), 3),
                ask(new Worker(new URL('/deep/module.js', location.href), { type: 'module' }), 5),
            ]);</script>`;
        const server = await serve({ '/': page, ...FILES }, { isolated });
        const { page: opened, result } = await open(browser, server.url);
        assert.deepEqual(result, [[6, '/deep/classic.js'], [10, '/deep/module.js']]);
        const counts = () =>
            reportsOf(server).map(({ functions }) => functions.find(({ name }) => name === 'leaf')?.calls);
        // Workers of an isolated page share its trace.
        const expected = isolated ? [8] : [3, 5];
        let found = [];
        for (let n = 0; n < 100 && !expected.every((calls) => found.includes(calls)); n++) {
            await new Promise((resolve) => setTimeout(resolve, 100));
            found = counts().sort();
        }
        // Otherwise its workers' tickers would disturb the next tests.
        await opened.close();
        await server.close();
        assert.deepEqual(found.filter(Boolean), expected);
    });
}

test('workers of workers, what they request, and one that ends itself', async (t) => {
    const outer = `
        addEventListener('message', async ({ data }) => {
            const answers = await Promise.all(['inner.js', new URL('inner.js',
                location)].map((url) => new Promise((resolve, reject) => {
                const worker = new Worker(url);
                worker.onmessage = ({ data }) => resolve(data);
                worker.onerror = (event) => reject(new Error(event.message));
                worker.postMessage(data);
            })));
            postMessage(answers);
        });`;
    const inner = `
        addEventListener('message', async ({ data }) => {
            const { instance } = await WebAssembly.instantiateStreaming(fetch(new Request('calls.wasm')),
                { host: { call() {} } });
            for (let n = 0; n < data; n++) instance.exports.leaf();
            postMessage(location.pathname);
            close();
        });`;
    const page = `<!doctype html><script src="/dist/kperf.js" data-post="/traces"></script><script type="module">
        globalThis.result = new Promise((resolve, reject) => {
            const worker = new Worker('deep/outer.js');
            worker.onmessage = ({ data }) => resolve(data);
            worker.onerror = (event) => reject(new Error(event.message));
            worker.postMessage(7);
        });</script>`;
    const server = await serve(
        { '/': page, '/deep/outer.js': outer, '/deep/inner.js': inner, '/deep/calls.wasm': calls },
    );
    t.after(() => server.close());
    const { result } = await open(browser, server.url);
    assert.deepEqual(result, ['/deep/inner.js', '/deep/inner.js']);
    await server.whole(2);
    const ended = reportsOf(server).filter(({ outcome }) => outcome === 'worker closed');
    assert.deepEqual(ended.map(({ calls, functions }) => [calls, functions[0].name]), [[7, 'leaf'], [7, 'leaf']]);
});
