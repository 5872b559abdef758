// Profiles in node: exact counts, samples, slow calls.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { getEnvironmentData } from 'node:worker_threads';
import { createRecorder, openTrace } from 'kperf-wasm';
import { hasMultiMemory, kperf, probed, ROOT } from './support/cli.mjs';
import { collectorProgram, startCollector } from './support/collector.mjs';
import { MemorySink } from './support/memory-sink.mjs';
import { assembled, lines, report, run, work } from './support/program.mjs';
import { slowly } from './support/slowly.mjs';

const life = join(ROOT, 'examples/game-of-life/rust/life.wasm');
probed(life, join(work, 'life.wasm'), '--record', 'profile');
probed(life, join(work, 'traced.wasm'), '--probe', 'import');
const slow = new WebAssembly.Module(probed('test/programs/slow.wat', join(work, 'slow.wasm'), '--record', 'profile'));
const hasExceptions = WebAssembly.validate(Uint8Array.of(
    0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0, 10, 8, 1, 6, 0, 0x1f, 0x40, 0, 0x0b, 0x0b,
));
const skip = !hasMultiMemory && 'this node gives a module one memory';

const counts = (trace) => Object.fromEntries(
    report(trace).functions.filter(({ calls }) => calls > 0).map(({ name, calls }) => [name, calls]),
);
/** The slow calls, without short ones that a busy machine made slow. */
const calls = (trace) => lines(trace, '--only', 'outer', '--only', 'inner', '--only', 'crash');

const GAME = `
    import { readFileSync } from 'node:fs';
    import { WASI } from 'node:wasi';
    const wasi = new WASI({ version: 'preview1', args: ['life', '500'], returnOnExit: true });
    const { instance } = await WebAssembly.instantiate(readFileSync('WORK/NAME.wasm'), wasi.getImportObject());
    wasi.start(instance);`;
/** The minimum length of slow calls in milliseconds. */
const SLOWLY = 120;
const SLOW = `
    const SLOWLY = ${SLOWLY};
    import { readFileSync } from 'node:fs';
    import { slowly } from '${new URL('./support/slowly.mjs', import.meta.url)}';
    const module = new WebAssembly.Module(readFileSync('WORK/slow.wasm'));
    const guest = (then = () => {}) => new WebAssembly.Instance(module, { host: { wait: (ms) => { slowly(ms); then();
        } } }).exports;`;

test('every call is counted, as a full trace counts them', { skip }, async () => {
    const [profile, trace] = ['life', 'traced'].map((name) => run(GAME.replace('NAME', name)));
    assert.match(profile.stderr, /^kperf: a profile of 152 functions: kperf-wasm report app.kperf\n$/);
    assert.equal(profile.stdout, trace.stdout);
    assert.deepEqual(counts(profile.trace), counts(trace.trace));
    const { clock, outcome, warnings } = report(profile.trace);
    // A program of 20 ms may end before the engine has optimized the sampler, which then misses samples.
    const others = warnings.filter((warning) => !/samples? of \d+ did not see/.test(warning));
    assert.deepEqual([clock.kind, outcome, others], ['precise', 'completed', []]);
    const core = await openTrace({ tree: true });
    core.push(readFileSync(profile.trace));
    core.end();
    assert.equal(core.reportText(), kperf('report', profile.trace, '--format', 'json'));
    assert.match(kperf('info', profile.trace), /^profile +2,000,\d+ calls, [\d,]+ samples?, one in [\d.]+ [mu]s/m);
});

test('a module that is linked at run time makes a profile with imported probes', { skip }, () => {
    assembled('linked.wasm', `(module
        (func $leaf) (func (export "outer") (call $leaf) (call $leaf))
        (func (export "fails") (call $leaf) unreachable))`);
    const text = `
        import { readFileSync } from 'node:fs';
        const plain = readFileSync('WORK/linked.wasm');
        const section = [0, 9, 8, ...Buffer.from('dylink.0')];
        const bytes = Buffer.concat([plain.subarray(0, 8), Buffer.from(section), plain.subarray(8)]);
        for (let n = 0; n < 100; n++) {
            const { instance: { exports } } = await WebAssembly.instantiate(bytes);
            exports.outer();
            if (n % 2) try { exports.fails(); } catch {}
        }
        console.log('done');`;
    const { stdout, stderr, trace } = run(text, { env: { KPERF_RECORD: 'profile' } });
    assert.deepEqual([stdout, stderr], ['done\n', 'kperf: a profile of 3 functions: kperf-wasm report app.kperf\n']);
    assert.deepEqual(counts(trace), { leaf: 250, outer: 100, fails: 50 });
});

test('a module without a shadow stack is refused', { skip }, () => {
    const counted = new WebAssembly.Module(
        probed('test/programs/slow.wat', join(work, 'counted.wasm'), '--record', 'profile', '--stack', 'native'),
    );
    const recorder = createRecorder({ path: join(work, 'counted.kperf'), record: 'profile' });
    assert.throws(() => recorder.imports({}, counted), /no shadow stack: rewrite the original with --stack shadow/);
    recorder.finish('completed');
});

test('samples find where the time goes, and slow calls are told', { skip }, () => {
    const { trace, stderr, stdout } = run(`${SLOW}
        const begun = performance.now();
        const { outer, leaf } = guest();
        const made = performance.now();
        for (let n = 0; n < 3; n++) outer(SLOWLY);
        for (let n = 0; n < 1000; n++) leaf();
        const ended = performance.now();
        console.log(JSON.stringify([ended - begun, ended - made]));`);
    assert.deepEqual(calls(trace), Array(3).fill(['outer() {', '  inner();', '} /* outer */']).flat(), stderr);
    assert.deepEqual(counts(trace), { outer: 3, inner: 3, leaf: 1006 });
    const inner = report(trace).functions.find(({ name }) => name === 'inner');
    // The program measures delays of a busy machine itself.
    const least = 3 * SLOWLY;
    const [most, calling] = JSON.parse(stdout);
    const told = `${JSON.stringify(inner)}, ${stdout}`;
    assert.equal(inner.share >= least / calling, true, told);
    assert.equal(inner.self_nanos >= least * 1e6 && inner.self_nanos <= most * 1e6, true, told);
    const none = run(`${SLOW} guest().outer(SLOWLY);`, { env: { KPERF_SPAN_MIN: 'off', KPERF_PERIOD: '200us' } });
    assert.deepEqual(calls(none.trace), []);
    assert.match(kperf('info', none.trace), /one in [\d.]+ [mu]s/);
});

test('how they ended: traps, exceptions, exits', { skip }, () => {
    const ends = {
        'guest().crash(SLOWLY);': ['crash() {', '  inner();', '} /* crash: trap */'],
        'setTimeout(() => guest(() => { throw new Error("out"); }).outer(SLOWLY));': [
            'outer() {', '  inner(); /* host error */', '} /* outer: host error */',
        ],
        'guest(() => process.exit(3)).outer(SLOWLY);': ['outer() {', '  inner(); /* exit */', '} /* outer: exit */'],
    };
    for (const [how, expected] of Object.entries(ends)) {
        const { trace, stderr } = run(`${SLOW} ${how}`);
        // Node reports a module's error after the turn, when the kind of error is unknown.
        const told = calls(trace).map((line) => line.replace('crash: host error', 'crash: trap'));
        assert.deepEqual(told, expected, stderr);
        assert.equal(report(trace).functions.find(({ name }) => name === 'inner').calls, 1);
    }
});

test('a frame that an exception left is closed when its thread rests, or at once through call()', { skip }, async () => {
    const { trace } = run(`${SLOW}
        const { outer, leaf } = guest(() => { throw new Error('out'); });
        try { outer(SLOWLY); } catch {}
        await new Promise((resolve) => setTimeout(resolve, 50));
        guest().outer(SLOWLY);`);
    const expected = [
        'outer() {', '  inner(); /* host error */', '} /* outer: host error */', 'outer() {', '  inner();',
        '} /* outer */',
    ];
    assert.deepEqual(calls(trace), expected);

    const path = join(work, 'hand.kperf');
    const kperf = createRecorder({ path, record: 'profile' });
    const { instance } = await kperf.instantiate(slow, { host: { wait: slowly } });
    assert.throws(() => kperf.call(() => instance.exports.crash(SLOWLY)), WebAssembly.RuntimeError);
    // A leaf function doesn't move the top of the stack.
    const lowest = new Uint32Array(instance.exports['kperf.memory'].buffer, 64, 1);
    for (const rest of [(call) => kperf.call(call), async (call) => call()]) {
        try {
            await rest(() => instance.exports.divide(0));
        } catch {}
        await new Promise((resolve) => setTimeout(resolve, 50));
        assert.equal(lowest[0], 0);
    }
    instance.exports.outer(SLOWLY);
    await kperf.finish();
    assert.deepEqual(
        calls(path), ['crash() {', '  inner();', '} /* crash: trap */', 'outer() {', '  inner();', '} /* outer */'],
    );
});

test('calls that throw and catch deep down are counted', { skip: skip || !hasExceptions }, async () => {
    const path = join(work, 'caught.kperf');
    const kperf = createRecorder({ path, record: 'profile' });
    const module =
        new WebAssembly.Module(probed('test/programs/throw.wat', join(work, 'throw.wasm'), '--record', 'profile'));
    const { instance } = await kperf.instantiate(module, {});
    let rounds = 0;
    for (const until = performance.now() + 500; performance.now() < until; rounds++) instance.exports.catches(60, 100);
    await kperf.finish();
    assert.deepEqual(counts(path), { catches: rounds, catch: 100 * rounds, throws: 6100 * rounds });
    assert.deepEqual(report(path).warnings.filter((warning) => warning.includes('malformed')), []);
});

test('calls that fail have not returned, whenever the sampler looks', { skip }, async () => {
    const path = join(work, 'unwound.kperf');
    const kperf = createRecorder({ path, record: 'profile', sampling: { period: '10us', spanMin: '20us' } });
    const wait = (micros) => {
        for (const until = performance.now() + micros / 1000; performance.now() < until;);
    };
    const { instance } = await kperf.instantiate(slow, { host: { wait } });
    for (let n = 0; n < 5000; n++) {
        assert.throws(() => kperf.call(() => instance.exports.crash(100)), WebAssembly.RuntimeError);
    }
    await kperf.finish();
    const ends = calls(path).filter((line) => line.includes('crash') && !line.endsWith('{'));
    assert.equal(ends.length > 0, true, 'no call was seen');
    assert.deepEqual(ends.filter((line) => !line.includes('trap')), []);
});

test('worker threads, also one that is terminated', { skip }, () => {
    const { trace, stderr } = run(`
        import { Worker, isMainThread, parentPort } from 'node:worker_threads';
        ${SLOW}
        if (isMainThread) {
            guest().outer(5);
            await new Promise((resolve) => new Worker(new URL(import.meta.url), { argv: ['end'] }).on('exit', resolve));
            const worker = new Worker(new URL(import.meta.url), { argv: ['stay'] });
            await new Promise((resolve) => worker.on('message', resolve));
            await worker.terminate();
        } else {
            const { outer } = guest(() => {
                if (process.argv[2] === 'end') return;
                parentPort.postMessage('here');
                for (;;);
            });
            outer(5);
        }`);
    assert.deepEqual(counts(trace), { outer: 3, inner: 3, leaf: 5 }, stderr);
    assert.match(kperf('info', trace), /^lanes {8}3$/m);
});

test('worker threads whose profiles begin at the same time share one sampler, which outlives them', { skip }, () => {
    const { trace, stderr } = run(`
        import { Worker, isMainThread, workerData } from 'node:worker_threads';
        ${SLOW}
        if (isMainThread) {
            const here = new Int32Array(new SharedArrayBuffer(4));
            const worker = () => new Promise((resolve) => new Worker(new URL(import.meta.url),
                { workerData: here }).on('exit', resolve));
            await Promise.all([worker(), worker(), worker()]);
            await worker();
        } else {
            Atomics.add(workerData, 0, 1);
            while (Atomics.load(workerData, 0) < 3);
            guest().outer(5);
        }`, { env: { KPERF_EVERY: '60s' } });
    assert.deepEqual(counts(trace), { outer: 4, inner: 4, leaf: 8 }, stderr);
    assert.deepEqual(calls(trace), Array(4).fill(['outer() {', '  inner();', '} /* outer */']).flat());
});

test('a sampler that was never started, by a thread that said it would, is started by another', { skip }, async () => {
    const path = join(work, 'claimed.kperf');
    const kperf = createRecorder({ path, record: 'profile' });
    const [MESSAGES, STATE, IS_STARTING] = [0, 3, 3];
    const words = new Int32Array(getEnvironmentData('kperf-wasm').sampler);
    words[STATE] = IS_STARTING;
    // It doesn't wait for messages to an earlier sampler, or that were never sent.
    words[MESSAGES]++;
    const { instance } = await kperf.instantiate(slow, { host: { wait: slowly } });
    instance.exports.outer(5);
    await kperf.finish();
    assert.deepEqual(counts(path), { outer: 1, inner: 1, leaf: 2 });
    assert.deepEqual(calls(path), ['outer() {', '  inner();', '} /* outer */']);
});

test('suspended stacks are kept apart', { skip: skip || !('Suspending' in WebAssembly) }, async () => {
    const path = join(work, 'suspended.kperf');
    const kperf = createRecorder({ path, record: 'profile' });
    const rest = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
    const { instance } = await kperf.instantiate(slow, { host: { wait: kperf.suspending(rest) } });
    const outer = kperf.promising(instance.exports.outer);
    await Promise.all([outer(30), outer(10), outer(20)]);
    const top = instance.exports['kperf.state.top'].value;
    await kperf.finish();
    assert.equal(top, 64);
    assert.deepEqual(counts(path), { outer: 3, inner: 3, leaf: 6 });
});

test('under the test clock nobody samples, and the counts are there', { skip }, async () => {
    const sink = new MemorySink();
    const kperf = createRecorder({ sink, clock: 'test' });
    const { instance } = await kperf.instantiate(slow, { host: { wait() {} } });
    instance.exports.outer(0);
    kperf.finishSync();
    assert.deepEqual(counts(sink.save(join(work, 'test.kperf'))), { outer: 1, inner: 1, leaf: 2 });
});

test('slow calls go to a Collector as spans', {
    skip: skip || (collectorProgram() === undefined && 'there is no Collector'),
}, async () => {
    const collector = await startCollector(work);
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint };
    const { stderr } = run(`${SLOW} const { outer } = guest(); outer(SLOWLY); outer(SLOWLY);`, { env });
    const spans = (await collector.spans()).filter(({ name }) => ['outer', 'inner'].includes(name));
    const outer = spans.filter(({ name }) => name === 'outer').map(({ spanId }) => spanId);
    const parents = spans.filter(({ name }) => name === 'inner').map(({ parentSpanId }) => parentSpanId);
    assert.deepEqual([outer.length, parents.sort()], [2, outer.sort()], stderr);
});

test('slow calls are children of the span that is told, or active in call()', { skip }, async () => {
    const TRACE = '0af7651916cd43dd8448eb211c80319c';
    const span = (id) => `00-${TRACE}-${id}-01`;
    const [told, active, inner] = ['b7ad6b7169203331', 'b7ad6b7169203332', 'b7ad6b7169203333'];
    const path = join(work, 'parents.kperf');
    let parent;
    let then = () => {};
    const recorder = createRecorder({ path, record: 'profile', parent: () => parent });
    const wait = (milliseconds) => {
        slowly(milliseconds);
        then();
    };
    const { outer, leaf } = (await recorder.instantiate(slow, { host: { wait } })).instance.exports;
    const call = () => outer(SLOWLY);
    call();
    recorder.setParent(span(told));
    call();
    recorder.call(call);
    recorder.setParent(undefined);
    parent = { traceparent: span(active), tracestate: 'vendor=7' };
    call();
    // A parent that is set while a call is open is the next call's.
    then = () => recorder.setParent(span(inner));
    recorder.call(call);
    then = () => {};
    call();
    recorder.setParent(undefined);
    recorder.call(call);
    for (let n = 0; n < 1000; n++) recorder.call(leaf);
    await recorder.finish();
    const file = join(work, 'parents.json');
    kperf('export', path, '--format', 'otlp-json', '-o', file);
    const requests =
        readFileSync(file, 'utf8').split('\n').filter((line) => line !== '').map((line) => JSON.parse(line));
    const spans = requests.flatMap(
        ({ resourceSpans }) => resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
    );
    const outermost = spans
        .filter(({ name }) => name === 'outer')
        .sort((a, b) => Number(BigInt(a.startTimeUnixNano) - BigInt(b.startTimeUnixNano)));
    const parents = outermost.map(
        ({ traceId, parentSpanId = '', traceState = '' }) => [traceId === TRACE, parentSpanId, traceState],
    );
    const [none, called] = [[false, '', ''], [true, active, 'vendor=7']];
    assert.deepEqual(parents, [none, [true, told, ''], [true, told, ''], none, called, [true, inner, ''], called]);
});

test('what can\'t be is refused by name', async () => {
    const kperf = createRecorder({ sink: new MemorySink(), clock: 'precise' });
    const message = hasMultiMemory ? /a profile needs a file/ : /a profile needs an engine with multi-memory/;
    await assert.rejects(kperf.instantiate(slow, { host: { wait() {} } }), message);
    assert.throws(
        () => createRecorder({ sink: new MemorySink(), sampling: { period: '1us' } }), /is not from 10us to 1s/,
    );
    assert.throws(
        () => createRecorder({ sink: new MemorySink(), sampling: { spanMin: '100us' } }), /shorter than two periods/,
    );
    assert.throws(
        () => createRecorder({ sink: new MemorySink(), sampling: { every: 'often' } }),
        /`often` is not a length of windows/,
    );
});
