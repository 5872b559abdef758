// Profiles in pages and workers.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { launch, open } from './support/chromium.mjs';
import { folder, kperf, probed, replay, ROOT } from './support/cli.mjs';
import { inWorker, page } from './support/pages.mjs';
import { serve } from './support/server.mjs';
import { SLOWLY } from './support/slowly.mjs';

const work = folder();
const path = join(ROOT, 'examples/game-of-life/rust/life.wasm');
const life = probed(path, join(work, 'life.wasm'), '--record', 'profile');
const slow = probed('test/programs/slow.wat', join(work, 'slow.wasm'), '--record', 'profile', '--id-base', '1000');
const traced = join(work, 'traced.kperf');
kperf('run', path, '--trace', traced, '--probe', 'import', '--', '50');
const browser = await launch('--js-flags=--expose-gc');
after(() => browser.close());

const SCRIPT = '<script src="/dist/kperf.js"></script>';
const calls = (trace) => replay(trace, '--only', 'outer', '--only', 'inner')
    .split('\n')
    .slice(1, -1)
    .map((line) => line.replace(/^.*\| /, '').trimEnd());
const report = (trace) => JSON.parse(kperf('report', trace, '--format', 'json', '--limit', '0'));
/** Calls of the game's own functions: the others depend on the host's WASI. */
const counts = (trace) => Object.fromEntries(
    report(trace).functions.filter(({ name }) => name.startsWith('life::')).map(({ name, calls }) => [name, calls]),
);

async function visit(files, options = {}) {
    const server = await serve({ '/life.wasm': life, '/slow.wasm': slow, ...files }, { isolated: true, ...options });
    try {
        const { page, result } = await open(browser, server.url);
        const trace = join(work, 'page.kperf');
        if (result?.trace) writeFileSync(trace, Buffer.from(result.trace));
        await options.then?.(page, server);
        return { ...result, trace, server };
    } finally {
        await server.close();
    }
}

const RESULT = `
    await kperf.finish();
    return { text, trace: await encoded(kperf.blob()) };`;
const BY_HAND = `
    import { createRecorder } from '/dist/browser/index.js';
    globalThis.result = (async () => {
        const kperf = createRecorder({ record: 'profile' });
        const text = await life(50, kperf);
        ${RESULT}
    })();`;
const BUSY = `
    async function busy(milliseconds, then = () => {}) {
        const wait = (ms) => {
            slowly(ms);
            then();
        };
        const { instance } = await WebAssembly.instantiateStreaming(fetch('/slow.wasm'), { host: { wait } });
        try { instance.exports.outer(milliseconds); } catch {}
    }`;

test('every call is counted, as a full trace counts them: in a page and in a worker', async () => {
    const zeroCode = page(`globalThis.result = life(50).then(async (text) => { ${RESULT} });`, SCRIPT);
    for (const files of [{ '/': page(BY_HAND) }, inWorker(BY_HAND), { '/': zeroCode }]) {
        const { text, trace } = await visit(files);
        assert.match(text, /^50 steps/);
        assert.deepEqual(counts(trace), counts(traced));
        assert.equal(report(trace).clock.kind, 'precise');
    }
});

test('slow calls are told, and how they ended', async () => {
    const script = `${BUSY}
        globalThis.result = (async () => {
            await busy(120);
            await busy(120, () => { throw new Error('out'); });
            await new Promise((resolve) => setTimeout(resolve, 60));
            await busy(120);
            const text = '';
            ${RESULT}
        })();`;
    const { trace } = await visit({ '/': page(script, SLOWLY + SCRIPT) });
    const good = ['outer() {', '  inner();', '} /* outer */'];
    assert.deepEqual(
        calls(trace).sort(),
        [...good, ...good, 'outer() {', '  inner(); /* host error */', '} /* outer: host error */'].sort(),
    );
    const inner = report(trace).functions.find(({ name }) => name === 'inner');
    assert.deepEqual([inner.calls, inner.self_nanos > 240e6], [3, true], JSON.stringify(inner));
});

test('an instance that is gone when the recording ends has told all', async () => {
    // It ends in the moment in which the recorder hears that.
    const head = `<script>
        const Registry = FinalizationRegistry;
        globalThis.FinalizationRegistry = class extends Registry {
            constructor(gone) {
                super((member) => {
                    gone(member);
                    globalThis.isGone();
                });
            }
        };
    </script>`;
    const script = `${BUSY}
        globalThis.result = (async () => {
            const finished = new Promise((resolve) => (globalThis.isGone = () => resolve(kperf.finish())));
            await busy(5, () => { throw new Error('out'); });
            const collecting = setInterval(gc, 50);
            await finished;
            clearInterval(collecting);
            const text = '';
            ${RESULT}
        })();`;
    const { trace } = await visit({ '/': page(script, SLOWLY + head + SCRIPT) });
    assert.deepEqual(calls(trace), ['outer() {', '  inner(); /* host error */', '} /* outer: host error */']);
    assert.equal(report(trace).functions.find(({ name }) => name === 'inner').calls, 1);
});

test('a page that is closed has told all its counts', async () => {
    const head = SLOWLY + SCRIPT.replace('src', 'data-post="/traces" src');
    const script = `${BUSY}
        globalThis.result = life(50).then(async () => new Promise((resolve) => setTimeout(resolve, 2500, {})));
        globalThis.busy = busy;`;
    const { server } = await visit({ '/': page(script, head) }, {
        async then(page, server) {
            await page.evaluate(() => globalThis.busy(5));
            await page.close({ runBeforeUnload: true });
            await server.whole(1);
        },
    });
    const trace = join(work, 'closed.kperf');
    writeFileSync(trace, server.trace());
    assert.deepEqual(counts(trace), counts(traced));
    const { outcome, functions } = report(trace);
    assert.deepEqual([outcome, functions.find(({ name }) => name === 'inner').calls], ['page closed', 1]);
});

test('where memory can\'t be shared with a worker the app runs without a profile, and that is told', async () => {
    const script = `
        const said = [];
        console.warn = (line) => said.push(line);
        globalThis.result = life(1).then((text) => ({ text, said: said.join('\\n') }));`;
    const { text, said } = await visit({ '/': page(script, SCRIPT) }, { isolated: false });
    assert.match(text, /^1 steps/);
    assert.match(
        said,
        /^kperf: a module is not recorded: a profiled module needs a page that is cross-origin isolated \(headers Cross-Origin-Opener-Policy: same-origin/,
    );
});
