// Workers of a page that know nothing of us, nor of being recorded.
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

for (const isolated of [true, false]) {
    test(`in ${isolated ? 'an isolated page' : 'any other page'}`, async () => {
        const page = `<!doctype html><script src="/dist/kperf.js" data-post="/traces"></script><script type="module">
            const ask = (worker, n) => new Promise((resolve, reject) => {
                worker.onmessage = ({ data }) => resolve(data);
                worker.onerror = (event) => reject(new Error(event.message));
                // At once: before it can have loaded anything.
                worker.postMessage(n);
            });
            globalThis.result = Promise.all([
                ask(new Worker('deep/classic.js'), 3),
                ask(new Worker(new URL('/deep/module.js', location.href), { type: 'module' }), 5),
            ]);</script>`;
        const server = await serve({ '/': page, ...FILES }, { isolated });
        const { result } = await open(browser, server.url);
        assert.deepEqual(result, [[6, '/deep/classic.js'], [10, '/deep/module.js']]);
        const counts = () => [...new Set(server.posts.map(({ trace }) => trace))].map((id) => {
            const path = join(work, `${id}.kperf`);
            writeFileSync(path, server.trace(id));
            return JSON.parse(kperf('report', path, '--format', 'json')).functions.find(({ name }) => name === 'leaf')?.calls;
        });
        let found = [];
        for (let n = 0; n < 100 && !(found.includes(3) && found.includes(5)); n++) {
            await new Promise((resolve) => setTimeout(resolve, 100));
            found = counts().sort();
        }
        await server.close();
        assert.deepEqual(found.filter(Boolean), [3, 5]);
    });
}
