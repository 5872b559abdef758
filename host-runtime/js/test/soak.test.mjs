// A server that stays up: 200 requests a second, each with an instance and a span of its own, and a Collector that goes away in the middle.
// As a test it takes some seconds; `scripts/bench --part soak-js 3600` runs it for an hour, in each kind of recording.
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { hasMultiMemory, kperf, PACKAGE } from './support/cli.mjs';
import { assembled, REGISTER, report, work } from './support/program.mjs';

const SECONDS = Number(process.env.KPERF_SOAK ?? 5);
const RATE = 200;
const REQUESTS = SECONDS * RATE;
/**
 * What a recording that sends spans may take, in MB (120 to 145 in Node.js 24 and 26; 198 beside four busy processes, where requests queue up),
 * and by how much it may grow after the first third.
 */
const OVER_PLAIN = process.env.KPERF_SOAK ? 180 : 240, GROWTH = 40;
/** The spans of more requests would be gigabytes of JSON. */
const MAX_EXPORTED = 20_000;

assembled('requests.wasm', readFileSync('test/programs/requests.wat', 'utf8'));

const begun = { at: 0 };
let refused = 0, taken = 0;
const collector = createServer((request, response) => {
    request.resume().on('end', () => {
        const part = (performance.now() - begun.at) / 1000 / SECONDS;
        // A busy machine may send nothing meanwhile: then what it sends next is refused.
        const isAway = part > 0.4 && (part < 0.6 || refused === 0);
        if (isAway) refused++;
        else taken++;
        response.writeHead(isAway ? 503 : 200, isAway ? { 'retry-after': '0' } : {}).end();
    });
});
await new Promise((resolve) => collector.listen(0, '127.0.0.1', resolve));
after(() => collector.close());
const OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${collector.address().port}`;

/** Runs the server, and returns its memory each second, in MB, and its messages. Kills it at its message of that number. */
async function serve(record, killAt) {
    const trace = join(work, `${record}-${killAt}.kperf`);
    const env = { ...process.env, KPERF_RECORD: record, KPERF_TRACE: trace, KPERF_CACHE: join(work, 'cache'), KPERF_SPAN_RATE: 'all', ...(killAt && { KPERF_EVERY: '1s' }), OTEL_EXPORTER_OTLP_ENDPOINT };
    const execArgv = ['--no-warnings', ...(record === 'plain' ? [] : ['--import', REGISTER])];
    const program = join(PACKAGE, 'test/programs/requests.mjs');
    begun.at = performance.now();
    const child = fork(program, [join(work, 'requests.wasm'), SECONDS, RATE], { execArgv, env, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
    const told = [];
    let stderr = '';
    child.on('message', (message) => void (told.push(message) === killAt && child.kill('SIGKILL')));
    child.stderr.on('data', (text) => (stderr += text));
    const status = await new Promise((resolve) => child.on('close', resolve));
    if (killAt) return { trace, requests: told.slice(0, killAt).map(({ requests }) => requests) };
    assert.equal(status, 0, stderr);
    assert.equal(told.at(-1).requests, REQUESTS);
    return { trace, memory: told.map(({ rss }) => rss), stderr };
}

const plain = await serve('plain');
for (const record of hasMultiMemory ? ['trace', 'profile'] : ['trace']) {
    test(`a ${record} of ${REQUESTS} requests`, async (t) => {
        [refused, taken] = [0, 0];
        const { trace, memory, stderr } = await serve(record);
        const [third, most] = [memory[Math.floor(memory.length / 3)], Math.max(...memory)];
        t.diagnostic(`${record}: ${Math.round(third)} MB after a third, ${Math.round(most)} MB at most; plain ${Math.round(Math.max(...plain.memory))} MB`);
        assert.ok(most - Math.max(...plain.memory) < OVER_PLAIN, memory.map(Math.round).join(' '));
        assert.ok(most - third < GROWTH, memory.map(Math.round).join(' '));
        const failed = Math.ceil(REQUESTS / 10);
        const calls = Object.fromEntries(report(trace).functions.map(({ name, calls }) => [name, calls]));
        assert.deepEqual(calls, { outer: 2 * REQUESTS, inner: 2 * REQUESTS, leaf: 2 * REQUESTS + failed, 'host.call': 2 * REQUESTS, fails: failed }, stderr);
        if (record === 'profile') return;
        assert.ok(taken > 0 && refused > 0, `${taken} ${refused}`);
        // All arrive, unless the Collector is away for longer than a request is tried.
        if (SECONDS * 0.2 < 8) assert.doesNotMatch(stderr, /not delivered/);
        if (REQUESTS > MAX_EXPORTED) return;
        // Every request has its calls under its own span, and no others.
        const spans = join(work, 'spans.json');
        kperf('export', trace, '--format', 'otlp-json', '-o', spans);
        const counts = new Map();
        const all = readFileSync(spans, 'utf8').trim().split('\n').flatMap((line) => JSON.parse(line).resourceSpans)
            .flatMap(({ scopeSpans }) => scopeSpans).flatMap(({ spans }) => spans);
        for (const { traceId } of all) counts.set(Number.parseInt(traceId, 16) - 1, (counts.get(Number.parseInt(traceId, 16) - 1) ?? 0) + 1);
        for (let n = 0; n < REQUESTS; n++) assert.equal(counts.get(n), n % 10 === 0 ? 10 : 8, `request ${n}`);
        assert.equal(counts.size, REQUESTS);
    });
}

for (const record of hasMultiMemory ? ['trace', 'profile'] : ['trace']) {
    test(`a ${record} of a server that is killed lacks at most its last second`, async () => {
        const { trace, requests } = await serve(record, SECONDS - 1);
        const calls = report(trace).functions.find(({ name }) => name === 'outer')?.calls ?? 0;
        // Both calls of each request that was answered a second before. A profile lacks the window that had not ended, of a second here.
        const at = record === 'trace' ? 2 : 3;
        assert.ok(calls >= 2 * requests.at(-at), `${calls} calls, ${requests.join(' ')} requests`);
    });
}
