// Recording in Chromium, in pages that are cross-origin isolated or not, and in workers.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { launch, open } from './support/chromium.mjs';
import { folder, kperf, probed, ROOT } from './support/cli.mjs';
import { inWorker, page } from './support/pages.mjs';
import { serve } from './support/server.mjs';

const work = folder();
const life = probed(join(ROOT, 'examples/game-of-life/rust/life.wasm'), join(work, 'life.wasm'));
const calls = probed('test/programs/calls.wat', join(work, 'calls.wasm'));
const browser = await launch();
after(() => browser.close());

const SCRIPT = '<script src="/dist/kperf.js"></script>';
const BY_HAND = `
    import { createRecorder } from '/dist/browser/index.js';
    globalThis.result = (async () => {
        const kperf = createRecorder(OPTIONS);
        await kperf.ready;
        const text = await life(5, kperf);
        const summary = await kperf.finish();
        return { text, summary, trace: await encoded(kperf.blob()), isolated: crossOriginIsolated };
    })();`;
const ZERO_CODE = `globalThis.result = life(5).then(async (text) => {
    const { probes, outcome } = await kperf.finish();
    return { text, trace: await encoded(kperf.blob()), probes, outcome };
});`;

/** Serves files, opens the page, writes its trace to a file, and returns its result. */
async function visit(files, options = {}) {
    const server = await serve({ '/life.wasm': life, '/calls.wasm': calls, ...files }, options);
    try {
        const { page, result } = await open(browser, server.url);
        const path = join(work, 'page.kperf');
        if (result?.trace) writeFileSync(path, Buffer.from(result.trace));
        await options.then?.(page, server);
        return { ...result, path, server };
    } finally {
        await server.close();
    }
}

const report = (trace) => JSON.parse(kperf('report', trace, '--format', 'json'));
const callsOf = (trace) => Object.fromEntries(report(trace).functions.map(({ name, calls }) => [name, calls]));

test('an isolated page has a ticker', async () => {
    const {
        text, trace, path, summary, isolated,
    } = await visit({ '/': page(BY_HAND.replace('OPTIONS', '')) }, { isolated: true });
    assert.equal(text, '5 steps, 19 live cells');
    assert.deepEqual([isolated, trace.length > 40_000, summary.probes], [true, true, 152]);
    const { clock, host } = report(path);
    const period = availableParallelism() > 1 ? 2000 : 1_000_000;
    assert.deepEqual([clock.kind, clock.period_nanos, host.name, host.os], ['ticker', period, 'chromium', 'linux']);
    assert.equal(callsOf(path)['life::is_valid_position'], 16_000);
});

test('any other page reads a clock that takes coarse steps, and the trace says so', async () => {
    const { path, isolated } = await visit({ '/': page(BY_HAND.replace('OPTIONS', '')) });
    const { clock } = report(path);
    assert.equal(isolated, false);
    assert.deepEqual([clock.kind, clock.source], ['precise', 'performance.now']);
    assert.equal(
        clock.resolution_nanos >= 50_000 && clock.resolution_nanos <= 200_000, true, `${clock.resolution_nanos}`,
    );
    assert.equal(callsOf(path)['life::is_valid_position'], 16_000);
});

test('an isolated page can read its clock at every event', async () => {
    const options = "{ clock: 'precise' }";
    const { path } = await visit({ '/': page(BY_HAND.replace('OPTIONS', options)) }, { isolated: true });
    const { clock } = report(path);
    assert.equal(clock.resolution_nanos >= 4000 && clock.resolution_nanos <= 6000, true, `${clock.resolution_nanos}`);
});

test('a ticker is refused with a reason where it can\'t work', async () => {
    const script = BY_HAND.replace('OPTIONS', "{ clock: 'ticker' }");
    await assert.rejects(
        visit({ '/': page(script) }),
        /the ticker can't work: the page is not cross-origin isolated .*; use the clock `precise`/,
    );
});

for (const isolated of [true, false]) {
    const where = isolated ? 'an isolated page' : 'any other page';
    test(`a worker of ${where} records`, async () => {
        const { text, path } = await visit(inWorker(BY_HAND.replace('OPTIONS', '')), { isolated });
        assert.equal(text, '5 steps, 19 live cells');
        assert.equal(report(path).clock.kind, isolated ? 'ticker' : 'precise');
        assert.equal(callsOf(path)['life::is_valid_position'], 16_000);
    });

    test(`a script tag records ${where} that knows nothing of it`, async () => {
        const { text, path, probes, outcome } = await visit({ '/': page(ZERO_CODE, SCRIPT) }, { isolated });
        assert.deepEqual([text, probes, outcome], ['5 steps, 19 live cells', 152, 'completed']);
        assert.equal(callsOf(path)['life::is_valid_position'], 16_000);
    });
}

test('an import does the same as the script tag', async () => {
    const { path } = await visit({ '/': page(`import '/dist/browser/register.js';\n${ZERO_CODE}`) });
    assert.equal(callsOf(path)['life::is_valid_position'], 16_000);
});

test('a frame that an exception carried out never becomes a parent', async () => {
    const script = `
        globalThis.result = (async () => {
            const { instance } = await WebAssembly.instantiateStreaming(fetch('/calls.wasm'),
                { host: { call() { throw new Error('out'); } } });
            try { instance.exports.outer(1); } catch {}
            await new Promise((resolve) => setTimeout(resolve, 0));
            instance.exports.leaf();
            await kperf.finish();
            return { trace: await encoded(kperf.blob()) };
        })();`;
    const { path } = await visit({ '/': page(script, SCRIPT.replace('src', 'data-clock="test" src')) });
    const lines = kperf('replay', path).split('\n').slice(1, -1).map((line) => line.replace(/^.*\| /, '').trimEnd());
    assert.deepEqual(lines, ['outer() {', '  inner(); /* host error */', '} /* outer: host error */', 'leaf();']);
});

test('a page posts its trace while it runs, again where the server fails', async () => {
    const script = `globalThis.result = life(5).then(async () => {
        await kperf.finish();
        return {};
    });`;
    const { server } = await visit(
        { '/': page(script, SCRIPT.replace('src', 'data-post="/traces" src')) }, { fail: 1 },
    );
    const path = join(work, 'posted.kperf');
    writeFileSync(path, server.trace());
    assert.equal(callsOf(path)['life::is_valid_position'], 16_000);
    assert.equal(report(path).outcome, 'completed');
});

for (const [what, lose, outcome] of [
    ['what it has', 0, 'page closed'],
    ['what was on its way, too', 1, 'page closed'],
    ['what its recording was about to end with', 1, 'completed'],
]) test(`a page that is closed sends ${what}`, async () => {
    const head = `<script>globalThis.kperfConfig = { post: '/traces', clock: 'test' };</script>${SCRIPT}`;
    const script = `globalThis.result = life(0).then(async () => new Promise((resolve) => setTimeout(resolve, 1500, {})));`;
    const { server } = await visit({ '/': page(script, head) }, {
        lose,
        async then(page, server) {
            await page.evaluate(() => {
                const { instantiateStreaming } = WebAssembly;
                return instantiateStreaming(fetch('/calls.wasm'), { host: { call() {} } }).catch(
                    (error) => String(error),
                );
            });
            if (outcome === 'completed') await page.evaluate(() => void globalThis.kperf.finish());
            await page.close({ runBeforeUnload: true });
            await server.whole(1);
        },
    });
    const path = join(work, 'closed.kperf');
    writeFileSync(path, server.trace());
    assert.equal(report(path).outcome, outcome);
    assert.equal(callsOf(path)['life::play'], 1);
});

test('a page without probed modules has no recording', async () => {
    const script = `globalThis.result = WebAssembly.instantiate(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0)).then(({ instance }) => ({
        kind: Object.prototype.toString.call(instance), kperf: Object.keys(globalThis).includes('kperf'),
    }));`;
    const { kind, kperf } = await visit({ '/': page(script, SCRIPT) });
    assert.deepEqual([kind, kperf], ['[object WebAssembly.Instance]', false]);
});
