// What `register` does with the answers of Collectors, good and bad.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { assembleFib, FIB, REGISTER, work } from './support/program.mjs';

assembleFib();
/** The calls of fib(10). */
const CALLS = 177;
const PROGRAM = `
    import { readFileSync } from 'node:fs';
    const { instance } = await WebAssembly.instantiate(readFileSync(${JSON.stringify(FIB)}));
    instance.exports.fib(10);
`;

/** Runs the program with a server that answers its requests. Returns its lines and its exit code. */
async function sent(answer, env = {}, { program = PROGRAM, limit = 'unlimited', code = 0 } = {}) {
    const server = createServer(async (request, response) => {
        const parts = [];
        for await (const part of request) parts.push(part);
        const body = Buffer.concat(parts);
        answer(response, request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const cwd = mkdtempSync(join(work, 'run-'));
    writeFileSync(join(cwd, 'app.mjs'), program);
    const OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${server.address().port}`;
    // No request before the end is partial, however slow the machine is.
    const child = spawn('bash', ['-c', `ulimit -f ${limit}; exec "$@"`, '', process.execPath, '--no-warnings', '--import', REGISTER, 'app.mjs'], {
        cwd, stdio: ['ignore', 'inherit', 'pipe'], env: { ...process.env, KPERF_SPAN_RATE: 'all', OTEL_BSP_SCHEDULE_DELAY: '1000000', OTEL_EXPORTER_OTLP_ENDPOINT, ...env },
    });
    let stderr = '';
    child.stderr.on('data', (text) => (stderr += text));
    const [ended] = await once(child, 'close');
    server.closeAllConnections();
    server.close();
    assert.equal(ended, code, stderr);
    return stderr;
}

test('an endless answer is not read', async () => {
    let bytes = 0;
    const piece = Buffer.alloc(1 << 16, ' ');
    const stderr = await sent((response) => {
        response.writeHead(200, { 'content-type': 'text/html' });
        const write = () => {
            while (!response.destroyed && bytes < 2 ** 28) {
                bytes += piece.length;
                if (!response.write(piece)) return response.once('drain', write);
            }
            response.end();
        };
        write();
    });
    assert.match(stderr, new RegExp(`${CALLS} of ${CALLS} spans were not delivered .*: its response is not an OTLP message`));
    // The buffers of sockets, too.
    assert.equal(bytes < 2 ** 26, true, `${bytes}`);
});

/** The fields of a message, as [number, bytes or number]. */
function* fields(bytes) {
    let at = 0;
    const varint = () => {
        for (let value = 0, scale = 1; ; scale *= 128) {
            const byte = bytes[at++];
            value += (byte & 127) * scale;
            if (byte < 128) return value;
        }
    };
    while (at < bytes.length) {
        const tag = varint();
        const length = { 0: () => 0, 1: () => 8, 2: varint, 5: () => 4 }[tag & 7]();
        yield [tag >>> 3, (tag & 7) === 0 ? varint() : bytes.subarray(at, at += length)];
    }
    assert.equal(at, bytes.length);
}
const inside = (bytes, number) => [...fields(bytes)].filter(([field]) => field === number).map(([, value]) => value);
const scopesOf = (body) => inside(body, 1).flatMap((resource) => inside(resource, 2));
/** The ids of a request's spans. */
const idsOf = (body) => scopesOf(body).flatMap((scope) => inside(scope, 2)).map((span) => inside(span, 2)[0].toString('hex'));

test('a request that is too large is sent in halves', async () => {
    const ids = [];
    let requests = 0;
    const lines = await sent((response, body) => {
        requests++;
        const isFine = body.length <= 4000;
        if (isFine) ids.push(...idsOf(body));
        // Each has the resource and the scope.
        assert.deepEqual([inside(inside(body, 1)[0], 1).length, inside(scopesOf(body)[0], 1).length], [1, 1]);
        response.writeHead(isFine ? 200 : 413).end();
    });
    assert.equal(requests > 2, true);
    assert.deepEqual([ids.length, new Set(ids).size], [CALLS, CALLS]);
    assert.match(lines, new RegExp(`^kperf: ${CALLS} spans sent to `, 'm'));
});

test('a span that is too large alone is not delivered, and the others are', async () => {
    let [all, bad, count] = [0, undefined, 0];
    const lines = await sent((response, body) => {
        const ids = idsOf(body);
        bad ??= ids[5];
        all = Math.max(all, ids.length);
        if (!ids.includes(bad)) count += ids.length;
        response.writeHead(ids.includes(bad) ? 413 : 200).end();
    });
    assert.deepEqual([all, count], [CALLS, CALLS - 1]);
    assert.match(lines, new RegExp(`^kperf: 1 of ${CALLS} spans were not delivered to .*: it responds 413 Payload Too Large;`, 'm'));
});

test('the environment says how many spans a request has', async () => {
    const counts = [];
    const batch = { OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '50' };
    await sent((response, body) => {
        counts.push(idsOf(body).length);
        response.end();
    }, batch);
    assert.equal(counts.reduce((sum, count) => sum + count), CALLS);
    assert.equal(Math.max(...counts), 50);
});

test('a server that counts wrongly, or whose answer can\'t be read', async () => {
    const minusFive = [10, 11, 8, 0xfb, ...Array(8).fill(255), 1];
    const answer = (body, type = 'application/x-protobuf') => (response) => response.writeHead(200, { 'content-type': type }).end(Buffer.from(body));
    assert.match(await sent(answer(minusFive)), new RegExp(`^kperf: ${CALLS} spans sent to `, 'm'));
    const lost = `^kperf: ${CALLS} of ${CALLS} spans were not delivered to .*: `;
    assert.match(await sent(answer([10, 6, 8, 255, 255, 255, 255, 15])), new RegExp(`${lost}it rejects ${CALLS} spans: ;`, 'm'));
    assert.match(await sent(answer([10, 200, 1])), new RegExp(`${lost}its response is not an OTLP message;`, 'm'));
    assert.match(await sent((response) => response.end(Buffer.alloc(9))), new RegExp(`${lost}its response is not an OTLP message;`, 'm'));
});

test('a full disk, and what of the spans was sent', { skip: process.platform !== 'linux' && 'needs /dev/full' }, async () => {
    let count = 0;
    const taken = (response, body) => {
        count += idsOf(body).length;
        response.end();
    };
    const none = /^kperf: .*ENOSPC.*; spans come from its file, so none of them were sent$/m;
    for (const end of ['', 'process.kill(process.pid, "SIGTERM"); setTimeout(() => {}, 1e5);']) {
        const program = PROGRAM + end;
        assert.match(await sent(taken, { KPERF_TRACE: '/dev/full' }, { program, code: end ? null : 0 }), none);
    }
    assert.equal(count, 0);
    // 256 KiB have room for the first of these calls. A busy writer may fail before one is whole in the file.
    const program = `${PROGRAM} for (let n = 0; n < 400; n++) instance.exports.fib(20);`;
    const env = { KPERF_CACHE: '0', OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '500' };
    const lines = await sent(taken, env, { program, limit: 256 });
    const [, number] = /^kperf: .*EFBIG.*; spans come from its file, so (\d+|none) of them were sent$/m.exec(lines) ?? [];
    assert.equal(number, String(count || 'none'), lines);
});
