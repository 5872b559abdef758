// A page's spans in a real Collector, compared with its trace.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { launch, open } from './support/chromium.mjs';
import { folder, kperf, probed, ROOT } from './support/cli.mjs';
import { collectorProgram, startCollector } from './support/collector.mjs';
import { page } from './support/pages.mjs';
import { serve } from './support/server.mjs';
import { SLOWLY } from './support/slowly.mjs';

const work = folder();
const life = probed(join(ROOT, 'examples/game-of-life/rust/life.wasm'), join(work, 'life.wasm'));
const calls = probed('test/programs/calls.wat', join(work, 'calls.wasm'));
const slow = probed('test/programs/slow.wat', join(work, 'slow.wasm'), '--record', 'profile');
const skip = collectorProgram() === undefined && 'there is no Collector, and no Go to build it';
const browser = await launch();
after(() => browser.close());

/** Opens a page; answers its result and the spans that the Collector has when `then` is done. */
async function visit(script, head, { isolated, then, files } = {}) {
    const collector = await startCollector(work);
    const text =
        page(script.replaceAll('ENDPOINT', collector.endpoint), head?.replaceAll('ENDPOINT', collector.endpoint));
    const server = await serve({ '/': text, '/life.wasm': life, '/calls.wasm': calls, ...files }, { isolated });
    try {
        const { page, result } = await open(browser, server.url);
        await then?.(page, collector);
        return { result, spans: await collector.spans() };
    } finally {
        await server.close();
    }
}

const BY_HAND = `
    import { coreModule, createRecorder, MemorySink, openTrace, OtlpSink } from '/dist/browser/index.js';
    globalThis.result = (async () => {
        const memory = new MemorySink();
        const otlp = new OtlpSink(coreModule(), { endpoint: 'ENDPOINT', spans: { service_name: 'life of a page' } });
        const sink = {
            chunk(bytes) { memory.chunk(bytes); otlp.chunk(bytes.slice()); },
            async close() { await otlp.close(); },
        };
        const parent = () => '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
        const kperf = createRecorder({ sink, parent });
        await kperf.ready;
        await life(3, kperf);
        await kperf.finish();
        const trace = await encoded(memory.blob());
        const core = await openTrace({ tree: true });
        core.push(Uint8Array.from(trace));
        core.end();
        return { trace, delivery: otlp.exporter.delivery, report: core.reportText() };
    })();`;

for (const isolated of [true, false]) {
    test(`spans of ${isolated ? 'an isolated page' : 'any other page'} are those of its trace`, { skip }, async () => {
        const { result, spans } = await visit(BY_HAND, '', { isolated });
        const path = join(work, 'page.kperf');
        writeFileSync(path, Uint8Array.from(result.trace));
        const text = kperf('report', path, '--format', 'json');
        const { calls } = JSON.parse(text);
        assert.equal(calls > 10_000, true);
        assert.deepEqual([spans.length, result.delivery.acknowledged, result.delivery.dropped], [calls, calls, 0]);
        assert.equal(result.report, text);
        const roots = spans.filter(({ parentSpanId }) => parentSpanId === 'b7ad6b7169203331');
        assert.equal(roots.length > 0, true);
        assert.deepEqual(new Set(spans.map(({ traceId }) => traceId)), new Set(['0af7651916cd43dd8448eb211c80319c']));
        assert.equal(spans[0].resource['service.name'], 'life of a page');
    });
}

const TAG = '<script src="/dist/kperf.js" data-otlp="ENDPOINT" data-service="tagged" data-clock="test"></script>';

test('a script tag sends the spans of a page that knows nothing of it', { skip }, async () => {
    const script = `globalThis.result = life(2).then(async () => {
        await kperf.finish();
        return kperf.sink.exporter.delivery;
    });`;
    const { result, spans } = await visit(script, TAG);
    assert.deepEqual([result.acknowledged, result.attempted], [spans.length, spans.length]);
    assert.equal(spans.filter(({ name }) => name === 'life::is_valid_position').length, 2 * 3200);
    assert.equal(spans[0].resource['service.name'], 'tagged');
});

test('and those of its workers', { skip }, async () => {
    const worker = `
        const { instance } = await WebAssembly.instantiateStreaming(fetch('/calls.wasm'), { host: { call() {} } });
        for (let n = 0; n < 5; n++) instance.exports.leaf();
        await kperf.finish();
        postMessage(kperf.sink.exporter.delivery);`;
    const script = `globalThis.result = new Promise((resolve) => (new Worker('/worker.js', { type: 'module' }).onmessage = ({ data }) => resolve(data)));`;
    const { result, spans } = await visit(script, TAG, { files: { '/worker.js': worker } });
    assert.equal(result.acknowledged, 5);
    assert.deepEqual(
        spans.map(({ name, resource }) => [name, resource['service.name']]), Array(5).fill(['leaf', 'tagged']),
    );
});

test('slow calls of a profile are spans, children of what the page says', { skip }, async () => {
    const head = SLOWLY + TAG.replace('data-clock="test"', 'data-record="profile"');
    const script = `globalThis.result = (async () => {
        const wait = (milliseconds) => slowly(milliseconds);
        const { instance } = await WebAssembly.instantiateStreaming(fetch('/slow.wasm'), { host: { wait } });
        instance.exports.outer(120);
        kperf.setParent('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01');
        instance.exports.outer(120);
        await kperf.finish();
        return kperf.sink.exporter.delivery;
    })();`;
    const { result, spans } = await visit(script, head, { isolated: true, files: { '/slow.wasm': slow } });
    const outer = spans.filter(({ name }) => name === 'outer');
    assert.deepEqual([result.acknowledged, outer.length], [spans.length, 2]);
    assert.deepEqual(outer.map(({ parentSpanId = '' }) => parentSpanId).sort(), ['', 'b7ad6b7169203331']);
    const inner = spans.filter(({ name }) => name === 'inner').map(({ parentSpanId }) => parentSpanId);
    assert.deepEqual(inner.sort(), outer.map(({ spanId }) => spanId).sort());
});

test('spans come while the page runs, and who looks at it learns if they don’t', { skip }, async () => {
    const script = 'globalThis.result = life(1).then(() => new Promise((resolve) => setTimeout(resolve, 3000)));';
    const { spans } = await visit(script, TAG);
    assert.equal(spans.filter(({ name }) => name === 'life::is_valid_position').length, 3200);
    const server = await serve(
        { '/': page(script, TAG.replace('ENDPOINT', 'http://127.0.0.1:1')), '/life.wasm': life },
    );
    const opened = await (await browser.newContext()).newPage();
    const warned = opened.waitForEvent(
        'console', { predicate: (message) => message.text().startsWith('kperf: '), timeout: 10_000 },
    );
    await opened.goto(server.url);
    assert.match(
        (await warned).text(),
        /^kperf: not all spans are delivered to http:..127.0.0.1:1.*: TypeError: Failed to fetch/,
    );
    await opened.close();
    await server.close();
});

test('a page that is closed sends what it has, up to 64 KiB', { skip }, async () => {
    // Nothing is sent before the end: only that is what is seen here.
    const head = `<script>globalThis.kperfConfig = { clock: 'test', otlp: { endpoint: 'ENDPOINT', delay: 1e6, spans: { max_spans: 50 } } };</script><script src="/dist/kperf.js"></script>`;
    // The core must be there, or nothing is known of spans.
    const core = `<script>
        const { instantiate } = WebAssembly;
        const core = new Promise((resolve) => {
            WebAssembly.instantiate = async (...args) => {
                const made = await instantiate(...args);
                if (made.exports?.kperf_open) setTimeout(resolve, 0);
                return made;
            };
        });
    </script>`;
    const script = 'globalThis.result = life(0).then(() => core);';
    const { spans } = await visit(script, core + head, {
        async then(page, collector) {
            await page.close({ runBeforeUnload: true });
            await collector.until(50);
        },
    });
    assert.equal(spans.length, 50);
});
