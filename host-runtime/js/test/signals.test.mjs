// Signals that end a program, or that it handles, under `kperf-wasm/register`.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { probed } from './support/cli.mjs';
import { assembled, assembleFib, callsOf, lines, major, REGISTER, report, run, work } from './support/program.mjs';

probed('test/programs/calls.wat', join(work, 'calls.wasm'));
assembleFib();

const CALLS = `
    import { readFileSync } from 'node:fs';
    const module = new WebAssembly.Module(readFileSync('WORK/calls.wasm'));
    const guest = (call) => new WebAssembly.Instance(module, { host: { call } }).exports;
`;

/**
 * Starts a program that runs for ever; sends it a signal when its trace has so many calls, and so many of them are open.
 * Answers the trace and the signal that ended it.
 */
async function interrupted(program, signal, calls, open) {
    const cwd = mkdtempSync(join(work, 'run-'));
    writeFileSync(join(cwd, 'app.mjs'), program.replaceAll('WORK', work));
    const child = spawn(
        process.execPath, ['--no-warnings', '--import', REGISTER, 'app.mjs'],
        { cwd, stdio: ['ignore', 'inherit', 'inherit'] },
    );
    const ended = new Promise((resolve) => child.on('exit', (_status, signal) => resolve(signal)));
    const trace = join(cwd, 'app.kperf');
    const recorded = () => {
        try {
            const { calls: soFar, functions } = report(trace);
            return soFar >= calls && functions.reduce((sum, { unfinished }) => sum + unfinished, 0) === open;
        } catch {
            // The file or its header isn't written yet.
            return false;
        }
    };
    try {
        for (let n = 0; !recorded(); n++) {
            if (n > 300 || child.exitCode !== null) throw new Error('the calls never came');
            await new Promise((resolve) => setTimeout(resolve, 50));
        }
        child.kill(signal);
        return { trace, endedBy: await ended };
    } finally {
        child.kill('SIGKILL');
    }
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGKILL']) {
    test(`${signal} ends a program as it would have, and its trace has what it did`, async () => {
        const resting = await interrupted(
            `${CALLS} guest(() => {}).outer(1); setInterval(() => {}, 1000);`, signal, 3, 0,
        );
        assert.equal(resting.endedBy, signal);
        assert.deepEqual(lines(resting.trace), ['outer() {', '  inner();', '  leaf();', '} /* outer */']);
        // A listener would not be called while this guest runs.
        const busy = await interrupted(`${CALLS} guest(() => { for (;;); }).outer(1);`, signal, 2, 2);
        assert.equal(busy.endedBy, signal);
        const how = signal === 'SIGKILL' ? 'cut off' : 'interrupted';
        assert.deepEqual(lines(busy.trace), ['outer() {', `  inner(); /* ${how} */`, `} /* outer: ${how} */`]);
        if (signal !== 'SIGKILL') assert.equal(report(busy.trace).outcome, `interrupted by ${signal}`);
    });
}


const FIB = `
    import { readFileSync } from 'node:fs';
    const { instance } = await WebAssembly.instantiate(readFileSync('FIB'));
    const { fib } = instance.exports;
    fib(10);
`;

test('a signal directly after the first call ends the trace, too, and nothing shows that it does', () => {
    const { signal, stdout, stderr, trace } = run(`${FIB}
        console.log(process.listenerCount('SIGTERM'), process.eventNames().includes('SIGTERM'));
        process.kill(process.pid, 'SIGTERM');
        setTimeout(() => {}, 60_000);`);
    assert.deepEqual([signal, stdout], ['SIGTERM', '0 false\n']);
    assert.match(stderr, /^kperf: 354 events of 1 functions: kperf-wasm report app.kperf\n$/);
    assert.equal(report(trace).outcome, 'interrupted by SIGTERM');
    assert.equal(callsOf(trace, 'fib'), 177);
});

test("signals that the program handles are the program's", () => {
    // One listener goes when it is called. The program ends later, and calls the guest until then.
    for (const listen of ['once', 'on']) {
        const { status, signal, stdout, trace } = run(`${FIB}
            const end = () => { fib(10); console.log('ended'); process.exit(3); };
            process.${listen}('SIGTERM', () => setTimeout(end, 500));
            process.kill(process.pid, 'SIGTERM');
            setTimeout(() => {}, 60_000);`);
        assert.deepEqual([status, signal, stdout], [3, null, 'ended\n']);
        assert.equal(report(trace).outcome, 'exit 3');
        assert.equal(callsOf(trace, 'fib'), 354);
    }
});

test('a listener that raises its signal again ends the trace', () => {
    const { signal, trace } = run(`${FIB}
        process.emit('SIGINT');
        process.once('SIGINT', () => { fib(10); process.kill(process.pid, 'SIGINT'); });
        process.kill(process.pid, 'SIGINT');
        setTimeout(() => {}, 60_000);`);
    assert.equal(signal, 'SIGINT');
    assert.equal(report(trace).outcome, 'interrupted by SIGINT');
    assert.equal(callsOf(trace, 'fib'), 354);
});

test('guests of several threads that run on don\'t delay the end of a trace, which has their open calls', async () => {
    assembled('spin.wasm', `(module (func $fib (param i32) (result i32)
        (if (result i32) (i32.lt_s (local.get 0) (i32.const 2)) (then (local.get 0)) (else (i32.add
            (call $fib (i32.sub (local.get 0) (i32.const 1))) (call $fib (i32.sub (local.get 0) (i32.const 2)))))))
        (func $spin (export "spin") (loop $l (drop (call $fib (i32.const 15))) (br $l))))`);
    const cwd = mkdtempSync(join(work, 'run-'));
    writeFileSync(join(cwd, 'app.mjs'), `
        import { readFileSync } from 'node:fs';
        import { isMainThread, Worker } from 'node:worker_threads';
        const { instance } = await WebAssembly.instantiate(readFileSync('${work}/spin.wasm'));
        if (isMainThread) {
            await new Promise((resolve) => new Worker(new URL(import.meta.url)).on('message', resolve));
            console.log('spins');
        } else (await import('node:worker_threads')).parentPort.postMessage(0);
        instance.exports.spin();`);
    const child = spawn(
        process.execPath, ['--no-warnings', '--import', REGISTER, 'app.mjs'], { cwd, stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const ended = new Promise((resolve) => child.on('exit', (_status, signal) => resolve(signal)));
    await new Promise((resolve) => child.stdout.once('data', resolve));
    await new Promise((resolve) => setTimeout(resolve, 500));
    child.kill('SIGINT');
    assert.equal(await ended, 'SIGINT');
    const { outcome, functions } = report(join(cwd, 'app.kperf'));
    assert.equal(outcome, 'interrupted by SIGINT');
    assert.equal(functions.find(({ name }) => name === 'spin').unfinished, 2);
});

test('a profile has all counts', { skip: major < 22 && 'no profiles' }, () => {
    const program = `${FIB} process.kill(process.pid, 'SIGTERM'); setTimeout(() => {}, 60_000);`;
    const { signal, trace } = run(program, { env: { KPERF_RECORD: 'profile' } });
    assert.equal(signal, 'SIGTERM');
    assert.equal(report(trace).outcome, 'interrupted by SIGTERM');
    assert.equal(callsOf(trace, 'fib'), 177);
});
