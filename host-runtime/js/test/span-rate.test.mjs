// The limit of spans a second, and what `register` does with settings that are OpenTelemetry's.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { SpanRate } from '../dist/common/otlp/span-rate.js';
import { TraceCore } from '../dist/common/trace/core.js';
import { coreModule } from '../dist/node/index.js';
import { assembleFib, callsOf, FIB, REGISTER, run, work } from './support/program.mjs';

assembleFib();
const PROGRAM = `
    import { readFileSync } from 'node:fs';
    const { instance } = await WebAssembly.instantiate(readFileSync('FIB'));
    const { fib } = instance.exports;
`;
/** The calls of fib(18), and of each fib(5). */
const [CALLS, FEW] = [8361, 15];

/** The fields of a message, as [number, content]; numbers stay bytes. */
function fields(bytes) {
    const found = [];
    let at = 0;
    const varint = () => {
        let value = 0;
        for (let scale = 1; ; scale *= 128) {
            const byte = bytes[at++];
            value += (byte & 127) * scale;
            if (byte < 128) return value;
        }
    };
    while (at < bytes.length) {
        const tag = varint();
        if ((tag & 7) === 0) {
            varint();
            continue;
        }
        const length = { 1: () => 8, 2: varint, 5: () => 4 }[tag & 7]();
        found.push([tag >>> 3, bytes.subarray(at, at += length)]);
    }
    assert.equal(at, bytes.length);
    return found;
}
const inside = (bytes, number) => fields(bytes).filter(([field]) => field === number).map(([, content]) => content);
/** The spans of a request. */
const spansOf = (body) => inside(body, 1).flatMap((resource) => inside(resource, 2)).flatMap((scope) => inside(scope, 2))
    .map((span) => {
        const hex = (number) => Buffer.from(inside(span, number)[0] ?? []).toString('hex');
        return { id: hex(2), parent: hex(4), end: hex(8) };
    });

/** A trace as requests. */
async function requestsOf(trace) {
    const core = await TraceCore.open(await coreModule(), { spans: { request_spans: 300 } });
    core.push(readFileSync(trace));
    core.end();
    return [...core.requests()];
}

test('at most so many spans a second are kept, and the spans around them', async () => {
    const { trace } = run(`${PROGRAM} fib(18); for (let n = 0; n < 100; n++) fib(5);`);
    const requests = await requestsOf(trace);
    const all = requests.flatMap(({ body }) => spansOf(body));
    assert.equal(all.length, CALLS + 100 * FEW);
    const rate = new SpanRate(1000);
    const limited = requests.map((request) => rate.limit(request)).filter((request) => request !== undefined);
    const kept = limited.flatMap(({ body, spans }) => {
        const found = spansOf(body);
        assert.equal(found.length, spans);
        return found;
    });
    assert.equal(kept.length + rate.left, all.length);
    // The recording takes some intervals of 0.1 s on a busy machine; in each, 100 calls and at most 17 around them.
    const intervals = new Set(all.map(({ end }) => Buffer.from(end, 'hex').readBigUInt64LE() / 100_000_000n)).size;
    assert.equal(kept.length >= 100 && kept.length <= intervals * 117, true, `${kept.length} in ${intervals}`);
    const ids = new Set(kept.map(({ id }) => id));
    assert.deepEqual(kept.filter(({ parent }) => parent !== '' && !ids.has(parent)), []);
});

test('requests below the limit stay as they are', async () => {
    const { trace } = run(`${PROGRAM} fib(10);`);
    const rate = new SpanRate(1e9);
    for (const request of await requestsOf(trace)) assert.deepEqual(rate.limit(request), request);
    assert.equal(rate.left, 0);
});

/** Runs a program that sends spans to this process. Returns its last lines and the number of spans that came. */
async function sent(program, env) {
    let spans = 0;
    const server = createServer((request, response) => {
        const parts = [];
        request.on('data', (part) => parts.push(part));
        request.on('end', () => {
            spans += spansOf(gunzipSync(Buffer.concat(parts))).length;
            response.end();
        });
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const cwd = mkdtempSync(join(work, 'run-'));
    writeFileSync(join(cwd, 'app.mjs'), program.replaceAll('FIB', FIB));
    const endpoint = `http://127.0.0.1:${server.address().port}`;
    const child = spawn(process.execPath, ['--no-warnings', '--import', REGISTER, 'app.mjs'], {
        cwd, stdio: ['ignore', 'inherit', 'pipe'], env: { ...process.env, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, ...env },
    });
    let stderr = '';
    child.stderr.on('data', (text) => (stderr += text));
    await once(child, 'close');
    server.close();
    server.closeAllConnections();
    return { stderr, spans };
}

test('an endpoint in the environment gets at most 1000 spans a second, unless more are asked for', async () => {
    const program = `${PROGRAM} fib(18);`;
    const few = await sent(program, {});
    const line = /^kperf: (\d+) spans sent to \S+, and (\d+) calls have none: at most 1000 a second /m;
    const [, count, left] = line.exec(few.stderr) ?? [];
    assert.deepEqual([Number(count), Number(count) + Number(left)], [few.spans, CALLS], few.stderr);
    const all = await sent(program, { KPERF_SPAN_RATE: 'all' });
    assert.match(all.stderr, new RegExp(`^kperf: ${CALLS} spans sent to \\S+$`, 'm'));
    assert.equal(all.spans, CALLS);
});

test('settings of OpenTelemetry that are impossible here leave the trace, and the program runs', () => {
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:2' };
    for (const [env, why] of [
        [{ ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, /OTEL_EXPORTER_OTLP_PROTOCOL=grpc: only http\/protobuf/],
        [{ ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }, /OTEL_EXPORTER_OTLP_PROTOCOL=http\/json: only/],
        [{ ...endpoint, OTEL_EXPORTER_OTLP_COMPRESSION: 'zstd' }, /OTEL_EXPORTER_OTLP_COMPRESSION=zstd: use gzip/],
        [{ ...endpoint, OTEL_EXPORTER_OTLP_HEADERS: 'x' }, /OTEL_EXPORTER_OTLP_HEADERS: pair 1 is not key=value/],
        [{ ...endpoint, OTEL_EXPORTER_OTLP_HEADERS: 'x y=secret' }, /OTEL_EXPORTER_OTLP_HEADERS: `x y` or its value/],
        [{ ...endpoint, OTEL_EXPORTER_OTLP_HEADERS: 'x=%secret' }, /OTEL_EXPORTER_OTLP_HEADERS: pair 1 is not percent-/],
        [{ ...endpoint, OTEL_EXPORTER_OTLP_TIMEOUT: '0' }, /OTEL_EXPORTER_OTLP_TIMEOUT=0: use 1 to 2147483647/],
        [{ ...endpoint, OTEL_EXPORTER_OTLP_TIMEOUT: '9999999999' }, /OTEL_EXPORTER_OTLP_TIMEOUT=9999999999: use 1 to/],
        [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }, /port 9 of `http:\/\/127\.0\.0\.1:9` is reserved/],
        [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://me:secret@127.0.0.1:2' }, /the Collector's URL has credentials/],
        [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'me:secret@127.0.0.1:2' }, /the Collector's URL has credentials/],
        [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'nosuch' }, /`nosuch` is not an http or https URL/],
        [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'localhost:4318' }, /`localhost:4318` is not an http or https URL/],
        [{ ...endpoint, KPERF_CLOCK: 'instructions' }, /KPERF_CLOCK=instructions has no times/],
    ]) {
        const { status, stderr, trace } = run(`${PROGRAM} fib(5);`, { env });
        assert.equal(status, 0, stderr);
        const [first, ...others] = stderr.trimEnd().split('\n');
        assert.match(first, /^kperf: no spans are sent, only app\.kperf is written: /);
        assert.match(first, why);
        assert.doesNotMatch(stderr, /secret/);
        assert.match(others.join('\n'), /^kperf: 30 events of 1 functions: kperf-wasm report app\.kperf$/);
        assert.equal(callsOf(trace, 'fib'), FEW);
    }
});

test('limits of spans that are out of range end the process before it does anything', () => {
    for (const [name, value] of [['MIN_NANOS', '99999999999999999999'], ['MAX_SPANS', '1e400'], ['MAX_DEPTH', '4294967296']]) {
        const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:2', [`KPERF_SPAN_${name}`]: value };
        const { status, stdout, stderr } = run(`console.log('it runs');`, { env });
        assert.deepEqual([status, stdout], [1, '']);
        assert.match(stderr, new RegExp(`^kperf: KPERF_SPAN_${name}=${value}: `));
    }
});
