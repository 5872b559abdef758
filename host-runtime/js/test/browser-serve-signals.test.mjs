// `kperf-wasm serve --otlp --signals traces,metrics,profiles`: what a page records reaches a real Collector as all three.
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { launch, open } from './support/chromium.mjs';
import { folder, PACKAGE, ROOT } from './support/cli.mjs';
import { collectorProgram, startCollector } from './support/collector.mjs';
import { page } from './support/pages.mjs';
import { isNpm, start } from './support/serve.mjs';

const work = folder();
const skip = (isNpm && 'the package sends spans only') || (collectorProgram() === undefined && 'there is no Collector, and no Go to build it');
const browser = await launch();
after(() => browser.close());

const app = join(work, 'app');
mkdirSync(app);
writeFileSync(join(app, 'index.html'), page('globalThis.result = life(5);', '<link rel="icon" href="data:,">'));
cpSync(join(ROOT, 'examples/game-of-life/rust/life.wasm'), join(app, 'life.wasm'));
cpSync(join(PACKAGE, 'node_modules/@bjorn3/browser_wasi_shim/dist'), join(app, 'wasi'), { recursive: true });

/** Visits the page; answers its report, and what the Collector has. */
async function visit(...flags) {
    const collector = await startCollector(work, { all: true });
    const server = await start(work, app, `--otlp=${collector.endpoint}`, ...flags);
    const { page: opened, result } = await open(browser, server.url);
    assert.equal(result, '5 steps, 19 live cells');
    await server.untilReported((reports) => reports.some(({ calls }) => calls > 20_000));
    await opened.close({ runBeforeUnload: true });
    await server.until(/^# trace: /m);
    const { stderr, reports } = await server.end();
    const spans = await collector.spans();
    return { stderr, report: reports[0], spans, metrics: collector.messages('metrics'), profiles: collector.messages('profiles') };
}

/** The sums of the values of each kind, in messages of profiles. An index that leads nowhere throws. */
function sumsOf(messages) {
    const sums = {};
    for (const { dictionary, resourceProfiles } of messages) {
        for (const { sampleType, samples } of resourceProfiles.flatMap(({ scopeProfiles }) => scopeProfiles.flatMap(({ profiles }) => profiles))) {
            const kind = dictionary.stringTable[sampleType.typeStrindex];
            for (const { stackIndex, values } of samples) {
                for (const location of dictionary.stackTable[stackIndex ?? 0].locationIndices) assert.notEqual(dictionary.locationTable[location].lines, undefined);
                sums[kind] = (sums[kind] ?? 0) + values.reduce((sum, value) => sum + Number(value), 0);
            }
        }
    }
    return sums;
}

test('spans, metrics and the profile of a page', { skip }, async () => {
    const { stderr, report, spans, metrics, profiles } = await visit('--signals', 'traces,metrics,profiles', '--clock', 'precise');
    assert.equal(spans.length, report.calls, stderr);
    const points = metrics.flatMap(({ resourceMetrics }) => resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics)));
    const counts = points.filter(({ name }) => /calls/.test(name)).flatMap(({ sum }) => sum?.dataPoints ?? []);
    assert.equal(counts.reduce((sum, { asInt }) => sum + Number(asInt), 0), report.calls, stderr);
    assert.equal(sumsOf(profiles).calls, report.calls, stderr);
    for (const what of ['spans', 'points of metrics', 'profiles']) assert.match(stderr, new RegExp(`^# ${what} to `, 'm'));
});

test('windows of a profile of a page go as they end', { skip }, async () => {
    const { stderr, report, spans, profiles } = await visit('--signals', 'profiles', '--record', 'profile');
    assert.equal(spans.length, 0);
    assert.equal(sumsOf(profiles).calls, report.calls, stderr);
});
