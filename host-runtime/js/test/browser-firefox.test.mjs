// The recorder in Firefox.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { folder, kperf, probed, ROOT } from './support/cli.mjs';
import { isHere, visit } from './support/firefox.mjs';
import { chunksOf, unpacked } from './support/memory-sink.mjs';
import { page } from './support/pages.mjs';
import { serve } from './support/server.mjs';

const work = folder();
const GOLDEN = join(ROOT, 'tests/golden/life.trace');
const files = {
    '/life.wasm': probed(join(ROOT, 'examples/game-of-life/rust/life.wasm'), join(work, 'life.wasm')),
    '/golden.wasm': probed(join(ROOT, 'examples/game-of-life/wat/life.wasm'), join(work, 'golden.wasm')),
    '/calls.wasm': probed('test/programs/calls.wat', join(work, 'calls.wasm')),
    '/worker.js': `WebAssembly.instantiateStreaming(fetch('calls.wasm'), { host: { call() {} } }).then(({ instance }) => {
        for (let n = 0; n < 7; n++) instance.exports.leaf();
        postMessage('done');
    });`,
};

/** A page within the other one: its worker is recorded, and knows nothing of it. */
const INNER = `<!doctype html><script src="/dist/kperf.js" data-post="/traces"></script><script type="module">
    const said = (worker) => new Promise((resolve) => {
        worker.onmessage = ({ data }) => resolve(data);
        worker.onerror = (event) => resolve(event.message);
    });
    // A blob without a type: Firefox starts it, and imports none.
    const blob = URL.createObjectURL(new Blob(["postMessage('done too')"]));
    parent.postMessage((await Promise.all([said(new Worker('worker.js')), said(new Worker(blob))])).join());</script>`;
/** Records twice by hand, once with the clock for tests. */
const SCRIPT = `
    import { createRecorder } from '/dist/browser/index.js';
    const worker = new Promise((resolve) => addEventListener('message', ({ data }) => resolve(data)));
    document.body.append(Object.assign(document.createElement('iframe'), { src: '/inner' }));
    async function record(options, ...run) {
        const kperf = createRecorder(options);
        await kperf.ready;
        const text = await life(run[0], kperf, run[1]);
        await kperf.finish();
        return { text, trace: await encoded(kperf.blob()) };
    }
    const result = (async () => {
        return { worker: await worker, isolated: crossOriginIsolated, usual: await record({}, 5),
            golden: await record({ clock: 'test' }, 1, '/golden.wasm') };
    })();
    const told = await result.catch((error) => ({ error: String(error.stack) }));
    await fetch('/result', { method: 'POST', body: JSON.stringify(told) });`;

const save = (name, bytes) => {
    const path = join(work, name);
    writeFileSync(path, Uint8Array.from(bytes));
    return path;
};
const report = (path) => JSON.parse(kperf('report', path, '--format', 'json'));
const events = (trace) =>
    chunksOf(Buffer.from(trace)).filter(({ kind }) => kind === 'EVTS').map(({ payload }) => unpacked(payload));

for (const isolated of [true, false]) {
    test(`in ${isolated ? 'an isolated page' : 'any other page'}, and in its worker`, {
        skip: !isHere && 'there is no Firefox',
    }, async () => {
        const server = await serve({ '/': page(SCRIPT), '/inner': INNER, ...files }, { isolated });
        const ofWorker = () => {
            const ids = [...new Set(server.posts.map(({ trace }) => trace))].filter(Boolean);
            const reports = ids.map((id) => report(save(`${id}.kperf`, server.trace(id))));
            return reports.find(({ functions }) => functions.some(({ name, calls }) => name === 'leaf' && calls === 7));
        };
        const { result, worker } = await visit(server.url, () => {
            const post = server.posts.find(({ trace }) => trace === undefined);
            const worker = post && ofWorker();
            return worker && { result: JSON.parse(post.body), worker };
        });
        await server.close();
        assert.equal(result.error, undefined);
        assert.deepEqual(
            [result.worker, result.isolated, result.usual.text], ['done,done too', isolated, '5 steps, 19 live cells'],
        );
        assert.equal(worker.host.name, 'firefox');
        const { clock, functions, host } = report(save('usual.kperf', result.usual.trace));
        assert.deepEqual([clock.kind, host.name, host.os], [isolated ? 'ticker' : 'precise', 'firefox', 'linux']);
        assert.equal(functions.find(({ name }) => name === 'life::is_valid_position').calls, 16_000);
        assert.deepEqual(events(result.golden.trace), events(readFileSync(GOLDEN)));
    });
}
