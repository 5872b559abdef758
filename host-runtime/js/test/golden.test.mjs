// Equal events on all hosts under the test clock: in node, in a worker thread, in a page, in its worker and
// (tests/golden.rs) under wasmtime. `BLESS=1` rewrites the golden trace.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { TraceWriter } from '../dist/common/trace/trace-writer.js';
import { launch, open } from './support/chromium.mjs';
import { folder, hasMultiMemory, kperf, PROBE, probed, ROOT } from './support/cli.mjs';
import { chunksOf, MemorySink, unpacked } from './support/memory-sink.mjs';
import { inWorker, page } from './support/pages.mjs';
import { serve } from './support/server.mjs';

const GOLDEN = join(ROOT, 'tests/golden/life.trace');
const isFirst = process.execPath.includes('node_modules') === false;
const skip = PROBE === 'inline' && !hasMultiMemory && 'this node gives a module one memory';
const work = folder();
const wasm = join(work, 'life.wasm');
const life = probed(join(ROOT, 'examples/game-of-life/wat/life.wasm'), wasm);
const events = (trace) => chunksOf(trace).filter(({ kind }) => kind === 'EVTS').map(({ payload }) => unpacked(payload));

const IN_NODE = `
    import { readFileSync } from 'node:fs';
    import { WASI } from 'node:wasi';
    import { createRecorder } from '${new URL('../dist/node/index.js', import.meta.url)}';
    const kperf = createRecorder({ clock: 'test', path: ${JSON.stringify(join(work, 'node.kperf'))} });
    const wasi = new WASI({ version: 'preview1', args: ['life', '1'], returnOnExit: true, stdout: 2 });
    const module = new WebAssembly.Module(readFileSync(${JSON.stringify(wasm)}));
    const instance = kperf.attach(new WebAssembly.Instance(module, kperf.imports(wasi.getImportObject(), module)));
    wasi.start(instance);
    kperf.finishSync();`;
const IN_PAGE = `
    import { createRecorder } from '/dist/browser/index.js';
    globalThis.result = (async () => {
        const kperf = createRecorder({ clock: 'test' });
        await life(1, kperf);
        await kperf.finish();
        return { trace: await encoded(kperf.blob()) };
    })();`;

const inNode = async () => {
    await import(`data:text/javascript,${encodeURIComponent(IN_NODE)}`);
    return readFileSync(join(work, 'node.kperf'));
};

/** Writes the golden trace: symbols and events, without data of this machine. */
function bless(trace) {
    const sink = new MemorySink();
    const clock = { kind: 'precise', source: 'test', ticks_per_second: 1e9, resolution_nanos: 1000 };
    const host = { name: 'node', version: '', os: '', arch: '', pid: 0 };
    const writer =
        new TraceWriter(sink, { clock, anchor: { ticks: '0', unix_nanos: '0' }, host, command: ['life', '1'] });
    for (const { bytes } of chunksOf(trace).filter(({ kind }) => kind === 'SYMS' || kind === 'EVTS')) sink.chunk(bytes);
    const stalls = { count: 0, nanos: 0, longest_nanos: 0 };
    const end = chunksOf(trace).find(({ kind }) => kind === 'ENDT');
    const { end_ticks } = JSON.parse(end.payload);
    writer.finish({ outcome: 'completed', end_ticks, recorders: 1, ticker_stalls: stalls, writer_stalls: stalls });
    sink.save(GOLDEN);
}

test('in node', { skip }, async () => {
    const trace = await inNode();
    if (process.env.BLESS && isFirst) bless(trace);
    assert.deepEqual(events(trace), events(readFileSync(GOLDEN)));
    assert.equal(events(trace).length, 1);
});

test('in a worker thread', { skip }, async () => {
    const text = `data:text/javascript,${encodeURIComponent(`${IN_NODE} // again`)}`;
    await new Promise((resolve, reject) => new Worker(new URL(text)).on('exit', resolve).on('error', reject));
    assert.deepEqual(events(readFileSync(join(work, 'node.kperf'))), events(readFileSync(GOLDEN)));
});

test('in Chromium, in a page and in a worker', { skip: !isFirst }, async () => {
    const browser = await launch();
    after(() => browser.close());
    for (const files of [{ '/': page(IN_PAGE) }, inWorker(IN_PAGE)]) {
        const server = await serve({ ...files, '/life.wasm': life });
        const { result } = await open(browser, server.url);
        await server.close();
        assert.deepEqual(events(Buffer.from(result.trace)), events(readFileSync(GOLDEN)));
    }
});

test('under wasmtime: every call at the same time', () => {
    const trace = join(work, 'wasmtime.kperf');
    kperf('run', wasm, '--clock', 'test', '--trace', trace, '--', '1');
    assert.equal(kperf('replay', trace), kperf('replay', GOLDEN));
});
