// examples/node and examples/browser.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { launch } from './support/chromium.mjs';
import { CLI, folder, kperf, PACKAGE, probed, ROOT } from './support/cli.mjs';
import { collectorProgram, startCollector } from './support/collector.mjs';

const work = folder();

/** A copy of an example, with what `npm install` would have put there. */
function install(name) {
    const to = join(work, 'examples', name);
    cpSync(join(ROOT, 'examples', name), to, { recursive: true, filter: (path) => !path.includes('node_modules') });
    mkdirSync(join(to, 'node_modules/@bjorn3'), { recursive: true });
    symlinkSync(PACKAGE, join(to, 'node_modules/kperf-wasm'));
    symlinkSync(
        join(PACKAGE, 'node_modules/@bjorn3/browser_wasi_shim'), join(to, 'node_modules/@bjorn3/browser_wasi_shim'),
    );
    return to;
}

/** A Collector; `undefined` where there is none, and no Go to build it: then examples send nothing. */
const collectorHere = () => (collectorProgram() === undefined ? undefined : startCollector(work));

/** The ids of a trace's spans of at least 20 us, as the command line makes them. */
function spanIds(trace) {
    const lines = kperf('export', trace, '--format', 'otlp-json', '--min-time', '20us', '-o', '-').trim().split('\n');
    const spans = lines.flatMap(
        (line) => JSON.parse(line).resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
    );
    return spans.map(({ spanId }) => spanId).sort();
}

test('examples/node', async () => {
    const cwd = install('node');
    assert.equal(readFileSync(join(cwd, 'life.mjs'), 'utf8').split('\n').length < 40, true);
    probed(join(ROOT, 'examples/game-of-life/rust/life.wasm'), join(cwd, 'life.probed.wasm'));
    const collector = await collectorHere();
    const env = {
        ...process.env, KPERF_SPAN_MIN_NANOS: '20000', OTEL_EXPORTER_OTLP_ENDPOINT: collector?.endpoint ?? '',
    };
    const { stdout, status } = spawnSync(
        process.execPath, ['--no-warnings', 'life.mjs', 'life.probed.wasm', '100'], { cwd, env, encoding: 'utf8' },
    );
    assert.match(
        stdout,
        /^100 steps, \d+ live cells\n\d+ events of 152 functions\n(\d+ spans sent\n)?( *[\d.]+ % +\d+ \S.*\n){8}$/,
    );
    assert.match(stdout, / % +320000 life::is_valid_position\n/);
    assert.equal(status, 0);
    if (collector) assert.deepEqual(
        (await collector.spans()).map(({ spanId }) => spanId).sort(), spanIds(join(cwd, 'life.kperf')),
    );
    const { functions } = JSON.parse(kperf('report', join(cwd, 'life.kperf'), '--format', 'json', '--limit', '0'));
    const callsOf = (name) => functions.find((f) => f.name === name).calls;
    assert.deepEqual(['life::step', 'compile', 'compile (await)'].map(callsOf), [100, 1, 1]);
});

test('examples/browser', async () => {
    const cwd = install('browser');
    cpSync(join(ROOT, 'examples/game-of-life'), join(work, 'examples/game-of-life'), { recursive: true });
    const collector = await collectorHere();
    const env = { ...process.env, KPERF_WASM_CLI: CLI, OTEL_EXPORTER_OTLP_ENDPOINT: collector?.endpoint ?? '' };
    const server = spawn(process.execPath, ['serve.mjs', '0'], { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] });
    const browser = await launch();
    after(async () => {
        server.kill();
        await browser.close();
    });
    const [url] = await once(server.stdout, 'data');
    const page = await browser.newPage();
    const errors = [];
    page.on('pageerror', (error) => errors.push(String(error.stack)));
    await page.goto(String(url).trim());
    const sent = [];
    for (const language of ['Rust', 'C', 'Kotlin']) {
        await page.click(`text="${language}"`);
        const { calls, text, sent: spans } = await page.evaluate(() => globalThis.result);
        sent.push(spans);
        assert.deepEqual(errors, []);
        assert.match(text, /^50 steps, \d+ live cells$/);
        // 20 rounds of 50 steps, 4,001 calls each, and the languages' own.
        assert.equal(calls > 4_001_000 && calls < 10_000_000, true, `${calls}`);
        const boxes = await page.locator('#flame div').allTextContents();
        assert.equal(boxes.length > 5 && boxes.some((box) => /step/.test(box)), true, boxes.join('\n'));
        // All there is is in rounds, but for Kotlin's start section.
        const outermost = await page.locator('#flame div').evaluateAll(
            (divs) => divs.filter(({ style }) => style.top === '1.5em').map(({ textContent }) => textContent),
        );
        if (language === 'Kotlin') {
            const [round, ...others] = outermost.reverse();
            assert.equal(parseFloat(/^round ([\d.]+) %$/.exec(round)?.[1]) > 50, true, boxes.join('\n'));
            assert.deepEqual(others.map((box) => box.split(' ')[0]).filter((name) => name !== '_initializeModule'), []);
        } else assert.deepEqual(outermost, ['round 100.0 %']);
    }
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('#download')]);
    const trace = join(work, 'page.kperf');
    await download.saveAs(trace);
    const { functions } = JSON.parse(kperf('report', trace, '--format', 'json', '--limit', '0'));
    assert.equal(functions.find(({ name }) => name === 'step').calls, 1000);
    await page.screenshot({ path: process.env.KPERF_SCREENSHOT ?? join(work, 'page.png') });
    if (!collector) return;
    const spans = await collector.spans();
    const languages = ['rust', 'c', 'kotlin'].map(
        (language) => spans.filter(({ resource }) => resource['service.name'] === `life in ${language}`),
    );
    assert.deepEqual(languages.map((spans) => spans.length), sent);
    assert.equal(sent.every((count) => count > 20), true, String(sent));
    assert.deepEqual(languages[2].map(({ spanId }) => spanId).sort(), spanIds(trace));
});
