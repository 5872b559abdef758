// Node's spans in a real Collector, compared with the trace.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { partialSuccess } from '../dist/common/otlp/answer.js';
import { OtlpExporter } from '../dist/common/otlp/exporter.js';
import { otlpFromEnvironment, tracesUrl } from '../dist/common/otlp/settings.js';
import { coreModule, createRecorder, OtlpSink } from '../dist/node/index.js';
import { folder, kperf, PACKAGE, probed, ROOT } from './support/cli.mjs';
import { collectorProgram, startCollector } from './support/collector.mjs';

const work = folder();
const wasm = join(work, 'life.wasm');
probed(join(ROOT, 'examples/game-of-life/rust/life.wasm'), wasm);
const calls = probed('test/programs/calls.wat', join(work, 'calls.wasm'));
const program = join(work, 'life.mjs');
writeFileSync(program, `
    import { readFileSync } from 'node:fs';
    import { WASI } from 'node:wasi';
    const wasi = new WASI({ version: 'preview1', args: ['life', '3'], returnOnExit: process.argv[2] !== 'exit' });
    const { instance } = await WebAssembly.instantiate(readFileSync(${JSON.stringify(wasm)}), wasi.getImportObject());
    wasi.start(instance);
    if (process.argv[2] === 'throw') throw new Error('out');`);
const skip = collectorProgram() === undefined && 'there is no Collector, and no Go to build it';

/** Runs the program with this environment. */
function run(env, ...args) {
    const register = join(PACKAGE, 'dist/node/register.js');
    const options = { cwd: work, encoding: 'utf8', env: { ...process.env, NODE_NO_WARNINGS: '1', KPERF_SPAN_RATE: 'all', ...env } };
    return spawnSync(process.execPath, ['--import', register, program, ...args], options);
}

for (const how of ['', 'exit', 'throw']) {
    test(`a program that ends ${how ? `by ${how}` : 'by itself'} has sent all its spans`, { skip }, async () => {
        const collector = await startCollector(work);
        const { stderr } = run({
            OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, OTEL_SERVICE_NAME: 'life of node',
            OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=a%20test', OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
        }, how);
        const spans = await collector.spans();
        const report = JSON.parse(kperf('report', join(work, 'life.kperf'), '--format', 'json'));
        assert.equal(spans.length, report.calls, stderr);
        assert.match(stderr, new RegExp(`^kperf: ${report.calls} spans sent to ${collector.endpoint}/v1/traces$`, 'm'));
        const counts = Object.groupBy ? Object.groupBy(spans, ({ name }) => name) : undefined;
        for (const { name, calls } of report.functions) {
            const count = counts ? counts[name].length : spans.filter((span) => span.name === name).length;
            // Some functions have the same name.
            assert.equal(count >= calls, true, name);
        }
        assert.equal(new Set(spans.map(({ spanId }) => spanId)).size, spans.length);
        assert.deepEqual(
            [spans[0].resource['service.name'], spans[0].resource['deployment.environment']],
            ['life of node', 'a test'],
        );
    });
}

test('without a Collector the trace is there, and it is said', () => {
    const { status, stderr } =
        run({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:2/v1/traces', KPERF_SPAN_MAX_SPANS: '10' });
    assert.equal(status, 0);
    assert.match(
        stderr,
        /^kperf: 10 of 10 spans were not delivered to http:\/\/127\.0\.0\.1:2\/v1\/traces: .*; `kperf-wasm send .*life\.kperf` sends them again$/m,
    );
    assert.equal(JSON.parse(kperf('report', join(work, 'life.kperf'), '--format', 'json')).calls > 10_000, true);
});

/** A server with scripted responses: status and headers, or `undefined` to hang up. */
async function answering(answers, use) {
    const bodies = [];
    const server = createServer(async (request, response) => {
        const parts = [];
        for await (const part of request) parts.push(part);
        const body = Buffer.concat(parts);
        bodies.push({
            headers: request.headers, body: request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body,
        });
        const answer = answers.length > 1 ? answers.shift() : answers[0];
        if (answer === undefined) return request.socket.destroy();
        response.writeHead(answer.status, answer.headers).end(answer.body);
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
        return await use(`http://127.0.0.1:${server.address().port}`, bodies);
    } finally {
        server.closeAllConnections();
        server.close();
    }
}

const request = (spans) => ({ body: new Uint8Array([10, 0]), spans });

test('it is tried again where the answer says so, and only there', async () => {
    const now = { 'retry-after': '0' };
    await answering([
        { status: 503, headers: now }, undefined, { status: 429, headers: now }, { status: 200 },
    ], async (endpoint, bodies) => {
        const exporter = new OtlpExporter({ endpoint, headers: { 'x-token': 'abc' } });
        exporter.send(request(3));
        const { acknowledged, retries, dropped } = await exporter.settled();
        assert.deepEqual([acknowledged, retries, dropped, bodies.length], [3, 3, 0, 4]);
        const { headers, body } = bodies[3];
        assert.deepEqual(
            [headers['content-type'], headers['x-token'], headers['content-encoding']],
            ['application/x-protobuf', 'abc', 'gzip'],
        );
        assert.deepEqual([...body], [10, 0]);
    });
    await answering([{ status: 400 }], async (endpoint, bodies) => {
        const exporter = new OtlpExporter({ endpoint, compression: 'none' });
        exporter.send(request(3));
        const { acknowledged, dropped, failure } = await exporter.settled();
        assert.deepEqual([acknowledged, dropped, failure, bodies.length], [0, 3, 'it responds 400 Bad Request', 1]);
    });
    await answering([{ status: 503, headers: { 'retry-after': '100' } }], async (endpoint) => {
        const exporter = new OtlpExporter({ endpoint, giveUpAfter: 50 });
        for (const spans of [3, 4]) exporter.send(request(spans));
        const { attempted, dropped, failure } = await exporter.settled();
        assert.deepEqual([attempted, dropped, failure], [7, 7, 'it responds 503 Service Unavailable, for 0 s']);
    });
});

test('a Collector that comes back gets the spans from then on', async () => {
    const away = { status: 503, headers: { 'retry-after': '100' } };
    await answering([away, away, { status: 200 }], async (endpoint, bodies) => {
        const exporter = new OtlpExporter({ endpoint, giveUpAfter: 300, compression: 'none' });
        const sent = async (spans) => {
            exporter.send(request(spans));
            await exporter.settled();
            return bodies.length;
        };
        assert.equal(await sent(1), 1);
        // Twice: it is tried once more after as long as it was tried, and then again.
        for (const tries of [2, 3]) {
            await new Promise((resolve) => setTimeout(resolve, 400));
            assert.equal(await sent(10), tries);
        }
        assert.equal(await sent(100), 4);
        const { attempted, acknowledged, dropped } = exporter.delivery;
        assert.deepEqual([attempted, acknowledged, dropped], [121, 110, 11]);
    });
});

test('what waits when a page is closed is sent without waiting, once', async () => {
    await answering([{ status: 503, headers: { 'retry-after': '3' } }], async (endpoint, bodies) => {
        const exporter = new OtlpExporter({ endpoint, compression: 'none' });
        for (const n of [1, 2, 3]) exporter.send({ body: new Uint8Array([10, n]), spans: 1 });
        while (exporter.delivery.retries === 0) await new Promise((resolve) => setTimeout(resolve, 1));
        assert.equal(bodies.length, 1);
        exporter.leave();
        while (bodies.length < 4) await new Promise((resolve) => setTimeout(resolve, 1));
        await exporter.settled();
        assert.deepEqual(bodies.slice(1).map(({ body }) => body[1]).sort(), [1, 2, 3]);
        assert.equal(exporter.delivery.attempted, 3);
    });
});

test('a response that is not an OTLP message is no acknowledgement', async () => {
    for (const [type, taken, body = '{}'] of [
        ['text/html; charset=utf-8', 0], ['application/x-protobuf', 3, ''], ['application/JSON', 3],
    ]) {
        await answering([{ status: 200, headers: { 'content-type': type }, body }], async (endpoint, bodies) => {
            const exporter = new OtlpExporter({ endpoint });
            exporter.send(request(3));
            const { acknowledged, dropped, failure } = await exporter.settled();
            assert.deepEqual([acknowledged, dropped, bodies.length], [taken, 3 - taken, 1], type);
            assert.equal(
                failure, taken ? undefined : 'its response is not an OTLP message, but text/html; charset=utf-8',
            );
        });
    }
});

test('spans that a Collector rejects are not counted as delivered', async () => {
    const body = Buffer.from([10, 8, 8, 2, 18, 4, ...Buffer.from('full')]);
    assert.deepEqual(partialSuccess(body), { rejected: 2, message: 'full' });
    assert.deepEqual(partialSuccess(Buffer.from([10, 0])), { rejected: 0, message: '' });
    // Negative, of the field 7 with 8 bytes, and malformed: cut, a group, a field 0, a length after the end, a number without end.
    assert.equal(partialSuccess(Buffer.from([10, 11, 8, 0xfb, ...Array(8).fill(255), 1])).rejected, 0);
    assert.deepEqual(partialSuccess(Buffer.from([57, ...Array(8).fill(9)])), { rejected: 0, message: '' });
    for (const bytes of [[10], [123, 125], [0, 0], [10, 200, 1, 8], [8, ...Array(20).fill(255)], [10, 2, 8, 255], [57, 1]]) {
        assert.equal(partialSuccess(Buffer.from(bytes)), undefined, String(bytes));
    }
    await answering([{ status: 200, body }], async (endpoint) => {
        const exporter = new OtlpExporter({ endpoint });
        exporter.send(request(5));
        const { acknowledged, rejected, failure } = await exporter.settled();
        assert.deepEqual([acknowledged, rejected, failure], [3, 2, 'it rejects 2 spans: full']);
    });
});

test('the environment says where spans go', () => {
    assert.equal(otlpFromEnvironment({}), undefined);
    assert.equal(
        otlpFromEnvironment({ OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://a' }), undefined,
    );
    assert.equal(tracesUrl(otlpFromEnvironment({ OTEL_TRACES_EXPORTER: 'otlp' })), 'http://localhost:4318/v1/traces');
    const options = otlpFromEnvironment({
        OTEL_EXPORTER_OTLP_ENDPOINT: 'http://a:2/b/', OTEL_EXPORTER_OTLP_HEADERS: 'key=a%2Cb, other=c', OTEL_EXPORTER_OTLP_TIMEOUT: '7',
        KPERF_SPAN_MIN_NANOS: '1000', OTEL_EXPORTER_OTLP_COMPRESSION: 'none',
    });
    assert.equal(tracesUrl(options), 'http://a:2/b/v1/traces');
    assert.deepEqual(
        [options.headers, options.timeout, options.compression, options.spans],
        [{ key: 'a,b', other: 'c' }, 7, 'none', { min_nanos: 1000 }],
    );
    const url = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://a', OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://b/spans' };
    assert.equal(tracesUrl(otlpFromEnvironment(url)), 'http://b/spans');
    assert.throws(
        () => otlpFromEnvironment({ ...url, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }),
        /only http\/protobuf is supported here/,
    );
    assert.throws(
        () => otlpFromEnvironment({ ...url, KPERF_SPAN_MAX_SPANS: 'many' }),
        /KPERF_SPAN_MAX_SPANS=many: not a whole number/,
    );
    assert.throws(() => otlpFromEnvironment({ ...url, OTEL_EXPORTER_OTLP_HEADERS: 'x' }), /pair 1 is not key=value/);
});

/** Runs something with a sink, and returns the Collector's spans. */
async function recorded(options, run) {
    const collector = await startCollector(work);
    const sink = new OtlpSink(coreModule(), { endpoint: collector.endpoint, delay: 50 });
    const recorder = createRecorder({ sink, clock: 'test', ...options });
    const module = new WebAssembly.Module(calls);
    const { exports } =
        recorder.attach(new WebAssembly.Instance(module, recorder.imports({ host: { call() {} } }, module)));
    await run(exports, recorder);
    await recorder.finish();
    return collector.spans();
}

const TRACE = '0af7651916cd43dd8448eb211c80319c';
/** By call from the host, in order of time: whether it is in the trace, its parent and its state. */
const outermost = (spans) => spans
    .filter(({ name }) => name === 'outer')
    .map(({ traceId, parentSpanId, traceState }) => [traceId === TRACE, parentSpanId ?? '', traceState]);

test('calls are children of what the program says', { skip }, async () => {
    const tracestate = 'vendor=7';
    let parent;
    const spans = await recorded({ parent: () => parent }, async ({ outer }, recorder) => {
        outer(0);
        await new Promise((resolve) => setTimeout(resolve, 0));
        parent = { traceparent: `00-${TRACE}-b7ad6b7169203331-01`, tracestate };
        outer(0);
        await new Promise((resolve) => setTimeout(resolve, 0));
        outer(0);
        recorder.setParent(`00-${TRACE}-b7ad6b7169203332-01`);
        outer(0);
        parent = undefined;
        recorder.setParent(undefined);
        outer(0);
    });
    assert.deepEqual(outermost(spans), [
        [false, '', undefined], [true, 'b7ad6b7169203331', tracestate], [true, 'b7ad6b7169203331', tracestate],
        [true, 'b7ad6b7169203332', undefined], [false, '', undefined],
    ]);
});

test('calls are children of the active span of @opentelemetry/api', { skip }, async () => {
    const { context, trace } = await import('@opentelemetry/api');
    const { AsyncLocalStorageContextManager } = await import('@opentelemetry/context-async-hooks');
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    try {
        const spans = await recorded({}, async ({ outer }) => {
            const around =
                trace.setSpanContext(context.active(), { traceId: TRACE, spanId: 'b7ad6b7169203331', traceFlags: 1 });
            await context.with(around, async () => {
                await new Promise((resolve) => setTimeout(resolve, 0));
                outer(0);
            });
            await new Promise((resolve) => setTimeout(resolve, 0));
            outer(0);
        });
        assert.deepEqual(
            outermost(spans).map(([same, span]) => [same, span]), [[true, 'b7ad6b7169203331'], [false, '']],
        );
    } finally {
        context.disable();
    }
});
