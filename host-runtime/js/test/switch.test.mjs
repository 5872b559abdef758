// Switching recording off and on in node: the trace has the calls that began while it was on.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { createRecorder } from 'kperf-wasm';
import { folder, hasMultiMemory, kperf as run, PACKAGE, probed, replay } from './support/cli.mjs';
import { MemorySink } from './support/memory-sink.mjs';
import { slowly } from './support/slowly.mjs';

const work = folder();
const options = {
    import: ['--probe', 'import'],
    ...(hasMultiMemory && { inline: ['--probe', 'inline'], profile: ['--record', 'profile'] }),
};
const rewritten = (name, path) => Object.fromEntries(Object.entries(options).map(
    ([way, options]) => [way, new WebAssembly.Module(probed(path, join(work, `${name}.${way}.wasm`), ...options))],
));
const calls = rewritten('calls', 'test/programs/calls.wat');
const { profile: slow } = rewritten('slow', 'test/programs/slow.wat');
const traces = Object.keys(options).filter((way) => way !== 'profile');

const report = (trace) => JSON.parse(run('report', trace, '--format', 'json', '--limit', '0'));
const counts = (trace) => Object.fromEntries(
    report(trace).functions.filter(({ calls }) => calls > 0).map(({ name, calls }) => [name, calls]),
);
const lines = (trace, ...options) =>
    replay(trace, ...options).split('\n').slice(1, -1).map((line) => line.replace(/^.*\| /, '').trimEnd());
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A guest under the test clock whose host function is `call`. */
function guest(way, call = () => {}) {
    const sink = new MemorySink();
    const kperf = createRecorder({ sink, clock: 'test' });
    const instantiate = () =>
        kperf.attach(new WebAssembly.Instance(calls[way], kperf.imports({ host: { call } }, calls[way]))).exports;
    return { kperf, instantiate, trace: () => sink.save(join(work, 'trace.kperf')) };
}

for (const way of traces) {
    test(`calls between switches, ${way}`, async () => {
        const { kperf, instantiate, trace } = guest(way);
        const { outer, leaf, descend } = instantiate();
        leaf();
        kperf.setRecording(false);
        outer(1);
        kperf.mark(5);
        for (let n = 0; n < 20; n++) descend(5000);
        await turn();
        kperf.setRecording(false);
        outer(1);
        kperf.setRecording(true);
        kperf.setRecording(true);
        outer(1);
        await turn();
        kperf.setRecording(false);
        await turn();
        kperf.setRecording(true);
        leaf();
        kperf.setRecording(false);
        leaf();
        assert.equal(kperf.finishSync().events, 10);
        assert.deepEqual(
            lines(trace()), ['leaf();', 'outer() {', '  inner();', '  leaf();', '} /* outer */', 'leaf();'],
        );
        assert.deepEqual(report(trace()).warnings, []);
    });

    test(`calls that are open at a switch, ${way}`, () => {
        let exports;
        const { kperf, instantiate, trace } = guest(way, (depth) => {
            kperf.setRecording(depth > 1);
            if (depth > 0) exports.outer(depth - 1);
            if (depth === 1) kperf.setRecording(true);
            exports.leaf();
        });
        exports = instantiate();
        // Off, nested off; then on, and off again in the outermost call.
        exports.outer(1);
        exports.leaf();
        kperf.setRecording(false);
        // On inside calls that began while it was off, and off in their callees.
        exports.outer(2);
        kperf.finishSync();
        assert.deepEqual(lines(trace()), [
            'outer() {', '  inner(); /* unfinished */', '} /* outer: unfinished */', 'leaf();', 'leaf();', 'leaf();',
            'outer() {', '  inner(); /* unfinished */', '} /* outer: unfinished */', 'leaf();', 'leaf();', 'leaf();', 'leaf();',
        ]);
    });

    test(`what throws while they are off is not found open later, ${way}`, async () => {
        const { kperf, instantiate, trace } = guest(way);
        const { crash, leaf } = instantiate();
        assert.throws(crash, WebAssembly.RuntimeError);
        kperf.setRecording(false);
        await turn();
        assert.throws(crash, WebAssembly.RuntimeError);
        kperf.setRecording(true);
        leaf();
        kperf.finishSync();
        assert.deepEqual(lines(trace()), ['crash() {', '  leaf();', '} /* crash: unfinished */', 'leaf();']);
    });

    test(`an instance that comes while they are off, ${way}`, () => {
        const { kperf, instantiate, trace } = guest(way);
        kperf.setRecording(false);
        const { leaf, outer } = instantiate();
        leaf();
        kperf.setRecording(true);
        outer(1);
        kperf.finishSync();
        assert.deepEqual(lines(trace()), ['outer() {', '  inner();', '  leaf();', '} /* outer */']);
    });

    test(`spans of JavaScript and suspended stacks, ${way}`, async () => {
        const { kperf, instantiate, trace } = guest(way);
        const { leaf } = instantiate();
        leaf();
        const early = kperf.span('early', turn);
        kperf.setRecording(false);
        const late = kperf.span('late', turn);
        kperf.setRecording(true);
        leaf();
        await Promise.all([early, late]);
        leaf();
        kperf.finishSync();
        assert.deepEqual(
            lines(trace()), ['leaf();', 'early();', 'early (await); /* unfinished */', 'leaf();', 'leaf();'],
        );
    });

    for (const clock of ['ticker', 'precise']) {
        test(`a program under the ${clock}, ${way}`, async () => {
            const path = join(work, `${way}.${clock}.kperf`);
            const kperf = createRecorder({ path, clock });
            const { instance } = await kperf.instantiate(calls[way], { host: { call() {} } });
            const { descend } = instance.exports;
            // Many times, because the ticker writes the time concurrently.
            const TURNS = 300;
            for (let n = 0; n < TURNS; n++) {
                descend(99);
                kperf.setRecording(false);
                descend(499);
                kperf.setRecording(true);
                if (n % 16 === 0) await turn();
            }
            kperf.setRecording(false);
            // Longer than the writer's interval.
            for (const until = performance.now() + 250; performance.now() < until;) descend(999);
            const { events } = await kperf.finish();
            assert.equal(events, 2 * 100 * TURNS);
            assert.deepEqual(counts(path), { descend: 100 * TURNS });
        });
    }
}

const busy = (milliseconds) => { for (const until = performance.now() + milliseconds; performance.now() < until;); };

test('a profile leaves out what is counted while it is off', { skip: !slow }, async () => {
    for (const clock of ['precise', 'test']) {
        const path = join(work, `profile.${clock}.kperf`);
        const kperf = createRecorder({ path, clock, record: 'profile', sampling: { every: '20ms' } });
        const guest = async () => (await kperf.instantiate(slow, { host: { wait: busy } })).instance.exports;
        const { outer, leaf } = await guest();
        outer(5);
        kperf.setRecording(false);
        for (let n = 0; n < 100; n++) outer(1);
        const second = await guest();
        second.outer(1);
        kperf.setRecording(true);
        outer(5);
        second.leaf();
        // Faster than the sampler.
        for (let n = 0; n < 50; n++) {
            kperf.setRecording(n % 2 === 1);
            leaf();
        }
        kperf.setRecording(false);
        outer(50);
        await kperf.finish();
        assert.deepEqual(counts(path), { outer: 2, inner: 2, leaf: 4 + 1 + 25 });
    }
});

test('a profile\'s slow calls end with the switch, and its samples with them', { skip: !slow }, async () => {
    const path = join(work, 'slow.kperf');
    const kperf = createRecorder({ path, record: 'profile' });
    let begun;
    let on = 0;
    const wait = (milliseconds) => {
        slowly(120);
        if (milliseconds > 1) begun = performance.now();
        kperf.setRecording(milliseconds > 1);
        if (milliseconds === 1) on += performance.now() - begun;
        slowly(120);
    };
    const { instance } = await kperf.instantiate(slow, { host: { wait } });
    begun = performance.now();
    instance.exports.outer(1);
    instance.exports.outer(2);
    on += performance.now() - begun;
    await kperf.finish();
    // The second was switched on inside its calls: they are not counted, but samples see them open.
    assert.deepEqual(lines(path, '--only', 'outer', '--only', 'inner'), [
        'outer() {', '  inner(); /* unfinished */', '} /* outer: unfinished */', 'outer() {', '  inner();', '} /* outer */',
    ]);
    assert.deepEqual(counts(path), { outer: 1, inner: 1, leaf: 2 });
    // It was off as long as on. On a busy machine the sampler notices the instance, and switches, late.
    const { self_nanos } = report(path);
    assert.equal(self_nanos > on * 0.25e6 && self_nanos < on * 1.25e6, true, `${self_nanos} in ${on} ms`);
});

test('under `register` each thread has its switch', () => {
    const register = pathToFileURL(join(PACKAGE, 'dist/node/register.js')).href;
    const app = join(work, 'app.mjs');
    writeFileSync(app, `
        import { readFileSync } from 'node:fs';
        import { Worker, isMainThread, workerData } from 'node:worker_threads';
        const module = new WebAssembly.Module(readFileSync(process.argv[2] ?? workerData));
        const { descend } = new WebAssembly.Instance(module, { host: { call() {} } }).exports;
        globalThis.kperf.setRecording(isMainThread);
        descend(isMainThread ? 9 : 99);
        globalThis.kperf.setRecording(true);
        descend(isMainThread ? 9 : 19);
        globalThis.kperf.setRecording(false);
        descend(999);
        if (isMainThread) for (const end of ['exit', 'terminate']) {
            const worker = new Worker(new URL(import.meta.url), { workerData: process.argv[2], argv: [] });
            await new Promise((resolve) => worker.on(end === 'exit' ? 'exit' : 'message', resolve));
            await worker.terminate();
        }
        else (await import('node:worker_threads')).parentPort.postMessage('done');
    `);
    for (const way of Object.keys(options)) {
        const trace = join(work, `threads.${way}.kperf`);
        const { status, stderr } = spawnSync(
            process.execPath, ['--no-warnings', '--import', register, app, join(work, `calls.${way}.wasm`)],
            { encoding: 'utf8', env: { ...process.env, KPERF_TRACE: trace } },
        );
        assert.equal(status, 0, stderr);
        assert.deepEqual(counts(trace), { descend: 10 + 10 + 2 * 20 }, way);
    }
});

// The next event is a leave, which doesn't read the clock.
test('a block that is handed over in the middle of a call', { skip: !hasMultiMemory }, () => {
    const counted = new WebAssembly.Module(
        probed('test/programs/calls.wat', join(work, 'counted.wasm'), '--probe', 'inline', '--clock', 'instructions'),
    );
    const sink = new MemorySink();
    const kperf = createRecorder({ sink, clock: 'instructions' });
    const call = () => kperf.flush();
    const { exports } = kperf.attach(new WebAssembly.Instance(counted, kperf.imports({ host: { call } }, counted)));
    for (let n = 0; n < 3; n++) exports.outer(1);
    assert.equal(kperf.finishSync().events, 18);
    const trace = sink.save(join(work, 'trace.kperf'));
    assert.deepEqual(lines(trace), Array(3).fill(['outer() {', '  inner();', '  leaf();', '} /* outer */']).flat());
    assert.deepEqual(report(trace).warnings, []);
});
