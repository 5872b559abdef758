// A ticker whose worker is refused or isn't run, in an isolated page: times are still the guest's own.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { launch, open } from './support/chromium.mjs';
import { folder, kperf, probed } from './support/cli.mjs';
import { chunksOf } from './support/memory-sink.mjs';
import { page } from './support/pages.mjs';
import { serve } from './support/server.mjs';

const work = folder();
const WAYS = ['import', 'inline'];
const modules = Object.fromEntries(
    WAYS.map((way) => [way, probed('test/programs/calls.wat', join(work, `${way}.wasm`), '--probe', way)]),
);
const browser = await launch();
after(() => browser.close());

/** Turns of 20 ms each, timed by their caller and by their callee. */
const GUEST = `
    const spin = (ms) => { for (const begin = performance.now(); performance.now() - begin < ms; ); };
    const timed = (call) => {
        const begin = performance.now();
        call();
        return (performance.now() - begin) * 1e6;
    };
    const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    async function turns(count, pause) {
        let [most, least] = [0, 0];
        const { instance } = await WebAssembly.instantiateStreaming(fetch('/calls.wasm'),
            { host: { call: () => (least += timed(() => spin(20))) } });
        for (let n = 0; n < count; n++) {
            await rest(pause);
            most += timed(() => instance.exports.outer(1));
        }
        return { most, least };
    }`;
const HEAD = '<script src="/dist/kperf.js"></script>';

/** Opens a page, and returns its result and its trace's report. */
async function visit(way, script, head = HEAD, expected = undefined) {
    const files = {
        '/calls.wasm': modules[way], '/': page(`${GUEST}\nglobalThis.result = (async () => {\n${script}\n})();`, head),
    };
    const server = await serve(files, { isolated: true });
    try {
        const { result } = await open(browser, server.url, expected);
        const path = join(work, 'page.kperf');
        const trace = Buffer.from(result.trace);
        writeFileSync(path, trace);
        const chunks = chunksOf(trace);
        const json = (kind) => JSON.parse(chunks.find((chunk) => chunk.kind === kind).payload);
        const { functions } = JSON.parse(kperf('report', path, '--format', 'json'));
        return {
            ...result, head: json('HEAD'), end: json('ENDT'),
            nanos: functions.find(({ name }) => name === 'outer').total_nanos,
        };
    } finally {
        await server.close();
    }
}

const FINISH = `
    await kperf.finish();
    return { ...said, trace: await encoded(kperf.blob()) };`;
/** The clock's step in nanoseconds, for both ends of a turn. */
const STEP = 10_000;

test('where a policy refuses its worker, every event reads the clock, and the trace says why', async () => {
    const policy = `<meta http-equiv="Content-Security-Policy" content="script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'; worker-src 'self'">`;
    for (const way of WAYS) {
        const {
            head, end, nanos, most, least,
        } = await visit(way, `const said = await turns(10, 5);${FINISH}`, policy + HEAD, /Content Security Policy/);
        const { kind, period_nanos, no_ticker } = head.clock;
        assert.deepEqual(
            [kind, period_nanos, end.ticks, end.ticker_stalls.count], ['precise', undefined, undefined, 0],
        );
        assert.match(no_ticker, /^its worker was refused: a Content-Security-Policy has to allow `worker-src blob:`$/);
        assert.equal(
            nanos >= least - 20 * STEP && nanos <= most + 20 * STEP, true, JSON.stringify({ nanos, most, least }),
        );
    }
});

test('a guest that runs before its worker does reads the clock', async () => {
    for (const way of WAYS) {
        // In one turn of the page, so that no worker begins.
        const { nanos, most, least } = await visit(way, `
            const { instance } = await new Promise((resolve) => {
                const request = new XMLHttpRequest();
                request.open('GET', '/calls.wasm', false);
                request.overrideMimeType('text/plain; charset=x-user-defined');
                request.send();
                const bytes = Uint8Array.from(request.responseText, (char) => char.charCodeAt(0));
                const said = { most: 0, least: 0 };
                const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes),
                    { host: { call: () => (said.least += timed(() => spin(20))) } });
                for (let n = 0; n < 10; n++) said.most += timed(() => instance.exports.outer(1));
                resolve({ instance: said });
            });
            const said = instance;${FINISH}`);
        assert.equal(
            nanos >= least - 20 * STEP && nanos <= most + 20 * STEP, true, JSON.stringify({ nanos, most, least }),
        );
    }
});
