// Modules with inlined probes.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createRecorder } from 'kperf-wasm';
import { folder, kperf as run, probed, replay } from './support/cli.mjs';
import { MemorySink } from './support/memory-sink.mjs';

const work = folder();
const inlined = (name, text) => {
    writeFileSync(join(work, `${name}.wat`), text);
    return new WebAssembly.Module(probed(join(work, `${name}.wat`), join(work, `${name}.wasm`), '--probe', 'inline'));
};
const calls = new WebAssembly.Module(probed('test/programs/calls.wat', join(work, 'calls.wasm'), '--probe', 'inline'));

function recording() {
    const sink = new MemorySink();
    const kperf = createRecorder({ sink, clock: 'test' });
    const lines = (...options) => {
        const trace = sink.save(join(work, 'trace.kperf'));
        return replay(trace, ...options).split('\n').slice(1, -1).map((line) => line.replace(/^.*\| /, '').trimEnd());
    };
    const report = () => JSON.parse(run('report', sink.save(join(work, 'trace.kperf')), '--format', 'json'));
    return { kperf, lines, report };
}

const START = (turns) => `(module
    (func $leaf)
    (func $begin (local i32)
        (loop $again
            (call $leaf)
            (br_if $again (i32.lt_u (local.tee 0 (i32.add (local.get 0) (i32.const 1))) (i32.const ${turns})))))
    (start $begin)
    (func (export "later") (call $leaf)))`;

test('what a start section did is in the trace', async () => {
    const { kperf, lines } = recording();
    const { instance } = await kperf.instantiate(inlined('start', START(2)));
    instance.exports.later();
    kperf.finishSync();
    assert.deepEqual(
        lines(), ['begin() {', '  leaf();', '  leaf();', '} /* begin */', 'later() {', '  leaf();', '} /* later */'],
    );
});

test('one that does more than a block holds is refused by name', async () => {
    const { kperf } = recording();
    const long = inlined('long', START(20_000));
    await assert.rejects(kperf.instantiate(long), /^Error: kperf: .* rewrite (it|the module) with `--probe import`/);
    assert.equal(kperf.unseen, 1);
    kperf.finishSync();
});

test('an instance that nobody told of is missed', () => {
    const { kperf } = recording();
    const { exports } = new WebAssembly.Instance(calls, kperf.imports({ host: { call() {} } }, calls));
    exports.leaf();
    assert.equal(kperf.unseen, 1);
    assert.throws(() => {
        for (let n = 0; n < 10; n++) exports.descend(5000);
    }, /kperf\.attach\(instance\)/);
});

test('it may be told of later, and nothing is lost', () => {
    const { kperf, lines } = recording();
    const instance = new WebAssembly.Instance(calls, kperf.imports({ host: { call() {} } }, calls));
    instance.exports.leaf();
    assert.equal(kperf.attach(instance), instance);
    assert.equal(kperf.attach(instance), instance);
    instance.exports.outer(1);
    kperf.finishSync();
    assert.deepEqual(lines(), ['leaf();', 'outer() {', '  inner();', '  leaf();', '} /* outer */']);
});

test('instances are lanes, told apart whatever their order', () => {
    const { kperf, report, lines } = recording();
    const others = [];
    const made = [1, 2, 3].map(() => new WebAssembly.Instance(
        calls, kperf.imports({ host: { call: (n) => n > 0 && others[n].exports.inner(n - 1) } }, calls),
    ));
    others.push(...made);
    made[2].exports.leaf();
    made.reverse().forEach((instance) => kperf.attach(instance));
    made[2].exports.inner(2);
    kperf.finishSync();
    assert.equal(report().calls, 4);
    const of = (lane) => lines('--lane', String(lane));
    assert.deepEqual([0, 1, 2].map(of), [['leaf();', 'inner();'], ['inner();'], ['inner();']]);
});

test('spans of JavaScript stand among its calls', () => {
    const { kperf, lines } = recording();
    const { exports } = kperf.attach(new WebAssembly.Instance(calls, kperf.imports({ host: { call() {} } }, calls)));
    kperf.span('outside', () => exports.leaf());
    kperf.mark(3);
    kperf.finishSync();
    assert.deepEqual(lines(), ['outside() {', '  leaf();', '} /* outside */', '/* mark 3, at 5.000 us */']);
});

test('after the end nothing is recorded, and the guest goes on', () => {
    const { kperf, report } = recording();
    const { exports } = kperf.attach(
        new WebAssembly.Instance(calls, kperf.imports({ host: { call: () => kperf.finishSync() } }, calls)),
    );
    exports.outer(1);
    for (let n = 0; n < 20; n++) exports.descend(5000);
    assert.equal(report().calls, 2);
});

test('what a probe costs is measured inside', async () => {
    let cost;
    // On a busy machine the ticker may stand still throughout, but not repeatedly.
    for (let tries = 0; !cost && tries < 20; tries++) {
        const path = join(work, `cost-${tries}.kperf`);
        const kperf = createRecorder({ path, clock: 'ticker' });
        const { instance } = await kperf.instantiate(calls, { host: { call() {} } });
        instance.exports.descend(1000);
        await kperf.finish();
        const report = JSON.parse(run('report', path, '--format', 'json'));
        assert.equal(report.calls, 1001);
        cost = report.probe_cost;
    }
    const sum = cost?.inside_nanos + cost?.outside_nanos;
    assert.equal(sum > 0 && sum < 100, true, JSON.stringify(cost));
});

test('instances that are gone take no room, and leave what they did', async () => {
    setFlagsFromString('--expose-gc');
    const gc = runInNewContext('gc');
    const path = join(work, 'gone.kperf');
    const kperf = createRecorder({ path, clock: 'ticker', calibrate: false });
    const [TURNS, EACH] = [20, 10];
    for (let turn = 0; turn < TURNS; turn++) {
        for (let n = 0; n < EACH; n++) {
            const { exports } =
                kperf.attach(new WebAssembly.Instance(calls, kperf.imports({ host: { call() {} } }, calls)));
            exports.outer(1);
        }
        await new Promise((resolve) => setTimeout(resolve, 5));
        gc();
    }
    for (let n = 0; n < 50 && kperf.numbers.length > EACH; n++) {
        gc();
        await new Promise((resolve) => setTimeout(resolve, 20));
    }
    assert.equal(kperf.numbers.length <= EACH, true, `${kperf.numbers.length} are left`);
    const { events, recorders } = kperf.finishSync();
    assert.deepEqual([events, recorders], [6 * TURNS * EACH, TURNS * EACH]);
    const report = JSON.parse(run('report', path, '--format', 'json'));
    // A busy machine adds warnings.
    const warnings = report.warnings.filter((warning) => !/stood still|the guest waited/.test(warning));
    assert.deepEqual([report.calls, warnings], [3 * TURNS * EACH, []]);
});
