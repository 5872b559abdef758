// A ticker that isn't run, or doesn't exist: times are still the guest's own.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import {
    clockMemory, GUEST_TOTAL, GUESTS, hasTicked, NAPS, stopTicker, wakeTicker,
} from '../dist/common/clock/ticker.js';
import { folder, hasMultiMemory, kperf, PACKAGE, probed } from './support/cli.mjs';
import { chunksOf } from './support/memory-sink.mjs';

const work = folder();
const WAYS = hasMultiMemory ? ['import', 'inline'] : ['import'];
for (const way of WAYS) probed('test/programs/calls.wat', join(work, `${way}.wasm`), '--probe', way);

/** The package with another start of the ticker's thread. */
function packageWith(text) {
    const root = mkdtempSync(join(work, 'package-'));
    cpSync(join(PACKAGE, 'dist'), join(root, 'dist'), { recursive: true });
    writeFileSync(join(root, 'package.json'), '{ "type": "module" }');
    const thread = join(root, 'dist/node/ticker-thread.js');
    writeFileSync(join(root, 'dist/node/ticker-loop.js'), readFileSync(thread));
    writeFileSync(thread, text);
    return pathToFileURL(join(root, 'dist/node/index.js')).href;
}

/**
 * Its thread ticks for 100 ms and is not run any more from then on, as far as anybody can see. (No scheduler does that on request; the loop
 * calls this at every turn.)
 */
const PUT_ASIDE = packageWith(`
    const { now } = performance;
    const begin = now.call(performance);
    performance.now = () => {
        const time = now.call(performance);
        if (time - begin > 100) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
        return time;
    };
    await import('./ticker-loop.js');`);
const MISSING = packageWith('');
const BROKEN = packageWith(`throw new Error('it broke')`);
const OURS = pathToFileURL(join(PACKAGE, 'dist/node/index.js')).href;

/**
 * Runs a program that has a \`kperf\` and a \`guest(call)\`, under another if one is named; what it prints as JSON, and
 * its trace.
 */
function run(way, index, program, options = {}, under = []) {
    const path = join(mkdtempSync(join(work, 'run-')), 'trace.kperf');
    const text = `
        import { readFileSync } from 'node:fs';
        import { createRecorder } from '${index}';
        const kperf = createRecorder(${JSON.stringify({ path, ...options })});
        const module = new WebAssembly.Module(readFileSync('${join(work, `${way}.wasm`)}'));
        const guest = (call) => kperf.attach(new WebAssembly.Instance(module, kperf.imports({ host: { call } },
            module))).exports;
        const now = () => performance.now() * 1e6;
        const spin = (ms) => { for (const begin = performance.now(); performance.now() - begin < ms; ); };
        ${program}`;
    const file = join(work, 'program.mjs');
    writeFileSync(file, text);
    const [command, ...before] = [...under, process.execPath];
    const { status, stdout, stderr } = spawnSync(command, [...before, '--no-warnings', file], { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    const chunks = chunksOf(readFileSync(path));
    const json = (kind) => JSON.parse(chunks.find((chunk) => chunk.kind === kind).payload);
    const report = JSON.parse(kperf('report', path, '--format', 'json'));
    const nanosOf = (name) => report.functions.find((f) => f.name === name).total_nanos;
    return { said: JSON.parse(stdout), stderr, head: json('HEAD'), end: json('ENDT'), report, nanosOf };
}

/** Readings of the clock are rounded to a tick at each end. */
const ROUNDED = 2;

/**
 * How long calls took as their caller and what they call say; times of the trace lie between the two, however busy the
 * machine is.
 */
const TIMED = `
    let [most, least] = [0, 0];
    const timed = (call) => {
        const begin = now();
        const result = call();
        most += now() - begin;
        return result;
    };
    const inner = (call) => {
        const begin = now();
        call();
        least += now() - begin;
    };`;

for (const way of WAYS) {
    test(`${way}: turns that begin when the ticker is not run have the clock's times`, () => {
        const { said, end, nanosOf } = run(way, PUT_ASIDE, `${TIMED}
            const { outer } = guest(() => inner(() => spin(5)));
            spin(200);
            for (let n = 0; n < 10; n++) {
                await new Promise((resolve) => setTimeout(resolve, 1));
                timed(() => outer(1));
            }
            await kperf.finish();
            console.log(JSON.stringify({ most, least }));`);
        const nanos = nanosOf('outer');
        assert.equal(
            nanos >= said.least - 20 * ROUNDED && nanos <= said.most + 20 * ROUNDED, true,
            JSON.stringify({ nanos, ...said }),
        );
        // No guest used the ticker's time while it stood still.
        assert.deepEqual([end.ticker_stalls.count, end.ticks.squares], [0, 0]);
    });

    test(`${way}: a turn in which it stops to be run has them from the next block on`, () => {
        const { said, end, nanosOf } = run(way, PUT_ASIDE, `${TIMED}
            const { outer, descend } = guest(() => inner(() => {
                const begin = performance.now();
                // Many blocks, and so many events behind the last that the outermost call ends soon after a look at the
                // clock.
                while (performance.now() - begin < 400) descend(3000);
            }));
            timed(() => outer(1));
            await kperf.finish();
            console.log(JSON.stringify({ most, least }));`);
        const nanos = nanosOf('outer');
        // At its beginning the time may have been as old as the limit.
        const OLD = 4e6;
        assert.equal(
            nanos >= said.least - ROUNDED && nanos <= said.most + OLD, true, JSON.stringify({ nanos, ...said }),
        );
        // Only the stall until then is reported: later events read the clock.
        const { ticks, ticker_stalls: stalls, end_ticks } = end;
        assert.equal(stalls.nanos < nanos && ticks.nanos < end_ticks, true, JSON.stringify(end));
        assert.equal(Math.sqrt(ticks.squares) < ticks.nanos * 0.75, true, JSON.stringify(end));
    });
}

test('a ticker that never runs is no ticker, and the trace says why', () => {
    for (const way of WAYS) {
        const { said, head, end, nanosOf } = run(way, MISSING, `${TIMED}
            const { outer } = guest(() => inner(() => spin(5)));
            timed(() => outer(1));
            await kperf.finish();
            console.log(JSON.stringify({ most, least }));`);
        const { kind, no_ticker, period_nanos } = head.clock;
        assert.deepEqual(
            [kind, no_ticker, period_nanos], ['precise', 'its thread did not start within 5 s', undefined],
        );
        assert.deepEqual([end.ticks, end.ticker_stalls.count], [undefined, 0]);
        const nanos = nanosOf('outer');
        assert.equal(
            nanos >= said.least - ROUNDED && nanos <= said.most + ROUNDED, true, JSON.stringify({ nanos, ...said }),
        );
    }
});

test('one that breaks does not end the program', () => {
    const { head, stderr } = run(WAYS[0], BROKEN, `
        guest(() => {}).outer(1);
        await new Promise((resolve) => setTimeout(resolve, 10));
        await kperf.finish();
        console.log('null');`);
    assert.equal(head.clock.kind, 'precise');
    assert.match(stderr, /^kperf: a thread of the recorder failed \(ticker\), so the trace is incomplete: it broke$/m);
});

const hasTaskset = spawnSync('taskset', ['-c', '0', 'true']).status === 0;
for (const way of WAYS) {
    test(`${way}: beside a guest on the only processor it sleeps between its ticks`, {
        skip: !hasTaskset && 'there is no taskset',
    }, () => {
        const { said, head, end, nanosOf } = run(way, OURS, `${TIMED}
            const { outer } = guest(() => inner(() => spin(100)));
            for (let n = 0; n < 5; n++) timed(() => outer(1));
            await kperf.finish();
            console.log(JSON.stringify({ most, least }));`, { clock: 'ticker' }, ['taskset', '-c', '0']);
        const MS = 1e6;
        assert.deepEqual([head.clock.kind, head.clock.period_nanos], ['ticker', MS]);
        const [nanos, { ticks }] = [nanosOf('outer'), end];
        // At ten ends a turn has the ticker's time.
        assert.equal(nanos > said.least * 0.8 && nanos < said.most * 1.2, true, JSON.stringify({ nanos, ...said }));
        // A spinning turn has 250,000; other tests may preempt this one.
        assert.equal(ticks.count > 5 && ticks.count < said.most / MS + 10, true, JSON.stringify(end));
    });
}

test('one that was asked for by name is missed', () => {
    const program = `console.log('null');`;
    assert.throws(
        () => run(WAYS[0], MISSING, program, { clock: 'ticker' }),
        /kperf: the ticker did not start; use the clock `precise`/,
    );
});

test('beside four processes that take the processors a guest has its own times', () => {
    const busy = Array.from({ length: 4 }, () => spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }));
    try {
        for (const way of WAYS) {
            const { said, end, nanosOf } = run(way, OURS, `${TIMED}
                const { outer } = guest(() => inner(() => spin(15)));
                const begin = now();
                for (let n = 0; n < 40; n++) {
                    await new Promise((resolve) => setTimeout(resolve, 5));
                    timed(() => outer(1));
                }
                await kperf.finish();
                console.log(JSON.stringify({ most, least, wall: now() - begin }));`, { calibrate: false });
            const nanos = nanosOf('outer');
            // Each of 40 turns has the ticker's time at two ends. Where it stood still at one it may be off by as much,
            // one way or the other.
            assert.equal(
                nanos > said.most / 2 && nanos < said.most * 1.5, true, JSON.stringify({ nanos, ...said, end }),
            );
            const { ticks, ticker_stalls: stalls } = end;
            // Resting guests see no stall, and stalls are not longer than the run.
            assert.equal(
                stalls.nanos <= ticks.nanos && ticks.nanos <= said.wall + 5e6, true, JSON.stringify({ end, ...said }),
            );
        }
    } finally {
        for (const process of busy) process.kill('SIGKILL');
    }
});

test('a ticker that is put aside naps: for longer if that is soon again, and while it wakes up late', async () => {
    const memory = clockMemory();
    // The thread's clock is one of ours, so that nothing depends on how it is run: 3 us a reading while it spins, 0.9
    // ms a nap.
    const thread = `
        const { parentPort, workerData: memory } = require('node:worker_threads');
        const control = new Int32Array(memory.buffer);
        control[${GUESTS / 4}] = 1;
        const spins = [100, 3, 3, 3, 3, 3, 3, 3, 150, 5];
        const naps = [];
        let [time, since, napped, isLate] = [1000, 1000, false, false];
        performance.now = () => {
            const naps_now = control[${NAPS / 4}] === 1;
            if (naps_now !== napped) {
                if (!naps_now) naps.push(Math.round((time - since) / 10) * 10);
                [napped, since] = [naps_now, time];
            }
            // In the first of them it is woken late once.
            if (naps_now && naps.length === 0 && !isLate && time - since > 10) [isLate, time] = [true, time + 5];
            if (!naps_now && time - since > (spins[naps.length] ?? Infinity)) time += 5;
            else time += naps_now ? 0.9 : 0.003;
            // Asked to stop.
            if (naps.length === spins.length) control[16] = 2;
            return time;
        };
        import(${JSON.stringify(pathToFileURL(join(PACKAGE, 'dist/common/clock/ticker.js')).href)}).then(({ TickerLoop }) => {
            new TickerLoop({ memory, offset: 0, periodNanos: 2000, resolutionNanos: 1 }).run();
            parentPort.postMessage(naps);
        });`;
    const worker = new Worker(thread, { eval: true, workerData: memory });
    const naps = await new Promise((resolve, reject) => worker.on('message', resolve).on('error', reject));
    assert.deepEqual(naps, [40, 40, 80, 160, 320, 640, 1000, 1000, 20, 40]);
    // Later readings ask the host.
    assert.deepEqual([hasTicked(memory), new BigInt64Array(memory.buffer)[0]], [true, 0n]);
});

test('one without guests sleeps, until one begins or it is asked', async () => {
    const memory = clockMemory();
    const control = new Int32Array(memory.buffer);
    const time = new BigInt64Array(memory.buffer, 0, 1);
    const lastTick = () => new Float64Array(memory.buffer)[192 / 8] / 1e6;
    // A reading of its clock takes a millisecond.
    const worker = new Worker(`
        const { parentPort, workerData: memory } = require('node:worker_threads');
        let time = 1000;
        performance.now = () => (time += 1);
        import(${JSON.stringify(pathToFileURL(join(PACKAGE, 'dist/common/clock/ticker.js')).href)}).then(({ TickerLoop }) => {
            new TickerLoop({ memory, offset: 0, periodNanos: 2000, resolutionNanos: 1 }).run();
            parentPort.postMessage('ended');
        });`, { eval: true, workerData: memory });
    const ended = new Promise((resolve, reject) => worker.on('message', resolve).on('error', reject));
    const until = async (isTrue) => {
        while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 1));
    };
    const sleeps = () => Atomics.load(control, 244 / 4) === 1;
    try {
        await until(sleeps);
        // It waited for 100 ms, and no time from before its sleep is visible.
        const before = lastTick();
        assert.deepEqual([before > 1100 && before < 1200, Atomics.load(time, 0)], [true, 0n], `${before}`);
        Atomics.store(control, GUESTS / 4, 1);
        wakeTicker(control);
        // It doesn't sleep while a guest runs.
        await until(() => lastTick() > before + 1000);
        assert.deepEqual([sleeps(), Atomics.load(time, 0) > 0n], [false, true]);
        Atomics.store(control, GUESTS / 4, 0);
        await until(sleeps);
        // A guest ran between two looks: it sleeps 100 ms later.
        const then = lastTick();
        new Float64Array(memory.buffer)[GUEST_TOTAL / 8] += 5e6;
        wakeTicker(control);
        await until(() => lastTick() > then + 50);
        await until(sleeps);
        stopTicker(memory);
        assert.equal(await ended, 'ended');
    } finally {
        await worker.terminate();
    }
});
