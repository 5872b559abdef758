// A page that stays open: 200 requests a second, each with an instance and a span of its own. As a test it takes some
// seconds; `scripts/bench --part soak-page 3600` keeps it open for an hour.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import wabt from 'wabt';
import { launch, open } from './support/chromium.mjs';
import { folder, kperf } from './support/cli.mjs';
import { memoryOf } from './support/memory.mjs';
import { serve } from './support/server.mjs';

const SECONDS = Number(process.env.KPERF_SOAK ?? 5);
const RATE = 200;
const REQUESTS = SECONDS * RATE;
/** What a recording may take, in MB, and by how much it may grow after the first third. */
const OVER_PLAIN = 150, GROWTH = 40;
/** The spans of more requests would be gigabytes of JSON. */
const MAX_EXPORTED = 20_000;

const work = folder();
const { parseWat } = await wabt();
const module = parseWat('requests.wat', readFileSync('test/programs/requests.wat', 'utf8'), {});
const wasm = Buffer.from(module.toBinary({ write_debug_names: true }).buffer);
const browser = await launch();
after(() => browser.close());

/** The nth request has the OpenTelemetry trace n + 1: two turns, and one in ten fails. */
const APP = `
    const id = (n, digits) => (n + 1).toString(16).padStart(digits, '0');
    globalThis.result = (async () => {
        const module = await WebAssembly.compileStreaming(fetch('/requests.wasm'));
        const under = (n, call) => {
            globalThis.kperf?.setParent('00-' + id(n, 32) + '-' + id(n, 16) + '-01');
            return call();
        };
        const answer = async (n) => {
            const { exports } = await WebAssembly.instantiate(module, { host: { call: (x) => x } });
            under(n, () => exports.outer(n));
            await new Promise((resolve) => setTimeout(resolve, 20));
            under(n, () => exports.outer(n));
            if (n % 10 === 0) under(n, () => { try { exports.fails(); } catch {} });
        };
        const all = new Set();
        const begun = performance.now();
        for (let n = 0; n < ${REQUESTS}; ) {
            // A busy machine doesn't get all that is late at once: Chromium has room for some hundred memories.
            const due = Math.min(((performance.now() - begun) / 1000) * ${RATE}, ${REQUESTS});
            for (; n < due && all.size < 16; n++) {
                const request = answer(n);
                all.add(request);
                request.finally(() => all.delete(request));
            }
            await new Promise((resolve) => setTimeout(resolve, 5));
        }
        await Promise.all(all);
        return 'done';
    })();`;
const page = (tag) => `<!doctype html><meta charset="utf-8">${tag}<script>${APP}</script>`;

/** Keeps the page open, and returns the renderer's memory each second, in MB, and the trace if there is a recorder. */
async function run(tag) {
    const server = await serve({ '/': page(tag), '/requests.wasm': wasm }, { isolated: true });
    const memory = [];
    const timer = setInterval(() => memory.push(memoryOf(/--type=renderer/)), 1000);
    const { page: opened, result } = await open(browser, server.url).finally(() => clearInterval(timer));
    assert.equal(result, 'done');
    await opened.close({ runBeforeUnload: true });
    if (tag) await server.whole(1);
    await opened.context().close();
    const trace = tag && server.trace();
    await server.close();
    return { memory, trace };
}

const plain = await run('');
for (const record of ['trace', 'profile']) {
    test(`a ${record} of ${REQUESTS} requests in a page`, async (t) => {
        const settings = `data-post="/traces" data-probe="auto" data-record="${record}"`;
        const { memory, trace } = await run(`<script src="/dist/kperf.js" ${settings}></script>`);
        const [most, before] = [memory, plain.memory].map((all) => Math.max(...all));
        const third = memory[Math.floor(memory.length / 3)];
        const [a, b, c] = [third, most, before].map(Math.round);
        t.diagnostic(`${record}: ${a} MB after a third, ${b} MB at most; plain ${c} MB`);
        assert.ok(most - before < OVER_PLAIN && most - third < GROWTH, memory.map(Math.round).join(' '));
        const path = join(work, `${record}.kperf`);
        writeFileSync(path, trace);
        const { functions } = JSON.parse(kperf('report', path, '--format', 'json'));
        const calls = Object.fromEntries(functions.map(({ name, calls }) => [name, calls]));
        const failed = Math.ceil(REQUESTS / 10);
        const each = 2 * REQUESTS;
        assert.deepEqual(calls, { outer: each, inner: each, leaf: each + failed, fails: failed });
        if (record === 'profile' || REQUESTS > MAX_EXPORTED) return;
        // Every request has its calls under its own span, and no others.
        const spans = join(work, 'spans.json');
        kperf('export', path, '--format', 'otlp-json', '-o', spans);
        const counts = new Map();
        for (const [, id] of readFileSync(spans, 'utf8').matchAll(/"traceId":"([0-9a-f]{32})","spanId"/g)) {
            const request = Number.parseInt(id, 16) - 1;
            counts.set(request, (counts.get(request) ?? 0) + 1);
        }
        for (let n = 0; n < REQUESTS; n++) assert.equal(counts.get(n), n % 10 === 0 ? 8 : 6, `request ${n}`);
        assert.equal(counts.size, REQUESTS);
    });
}
