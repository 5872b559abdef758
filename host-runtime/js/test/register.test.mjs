// `node --import kperf-wasm/register` with programs that know nothing of it.
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { kperf, PACKAGE, PROBE, probed, replay, ROOT } from './support/cli.mjs';
import { callsOf, lines, REGISTER, report, run, work } from './support/program.mjs';

const life = join(work, 'life.wasm');
probed(join(ROOT, 'examples/game-of-life/rust/life.wasm'), life);
probed('test/programs/calls.wat', join(work, 'calls.wasm'));

const GAME = `
    import { readFileSync } from 'node:fs';
    import { WASI } from 'node:wasi';
    const wasi = new WASI({ version: 'preview1', args: ['life', ...process.argv.slice(2)], returnOnExit: RETURN });
`;
const life5 = (how, returns = true) => GAME.replace('RETURN', returns) + how;

for (const [name, how] of Object.entries({
    'instantiate(bytes)': `const { instance } = await WebAssembly.instantiate(readFileSync('WORK/life.wasm'), wasi.getImportObject());`,
    'instantiate(module)': `const instance = await WebAssembly.instantiate(await WebAssembly.compile(readFileSync('WORK/life.wasm')), wasi.getImportObject());`,
    'new Instance': `const instance = new WebAssembly.Instance(new WebAssembly.Module(readFileSync('WORK/life.wasm')), wasi.getImportObject());
        if (!(instance instanceof WebAssembly.Instance) || instance.constructor !== WebAssembly.Instance) throw new Error('no instance');`,
    'instantiateStreaming': `const response = new Response(readFileSync('WORK/life.wasm'), { headers: { 'content-type': 'application/wasm' } });
        const { instance } = await WebAssembly.instantiateStreaming(response, wasi.getImportObject());`,
})) {
    test(`${name} is recorded`, () => {
        const { status, stdout, stderr, trace } = run(life5(`${how}\nwasi.start(instance);`), { args: ['5'] });
        assert.equal(stdout, '5 steps, 19 live cells\n');
        assert.match(stderr, /^kperf: \d+ events of 152 functions: kperf-wasm report app.kperf\n$/);
        assert.equal(status, 0);
        assert.equal(callsOf(trace, 'life::is_valid_position'), 16_000);
        assert.equal(report(trace).outcome, 'completed');
    });
}

test('a writer that can not write says why, and the program runs on', () => {
    const broken = join(work, 'broken');
    cpSync(join(PACKAGE, 'dist'), join(broken, 'dist'), { recursive: true });
    writeFileSync(join(broken, 'package.json'), '{ "type": "module" }');
    rmSync(join(broken, 'dist/core.wasm'));
    const { status, stdout, stderr, trace } = run(`
        const { createRecorder } = await import('${pathToFileURL(join(broken, 'dist/node/index.js')).href}');
        const recorder = createRecorder({ path: 'app.kperf' });
        const { readFileSync } = await import('node:fs');
        const module = new WebAssembly.Module(readFileSync('WORK/calls.wasm'));
        const { exports } = recorder.attach(new WebAssembly.Instance(module, recorder.imports({ host: { call() {} } },
            module)));
        exports.outer(1);
        try {
            await recorder.finish();
        } catch ({ message }) {
            console.log(message);
        }
    `, { register: false });
    assert.match(stdout, /^kperf: the trace is cut off: Error: ENOENT.*core\.wasm/);
    assert.deepEqual([status, stderr, trace], [0, '', undefined]);
});

test('the exit of a WASI program, returned or not', () => {
    for (const returns of [true, false]) {
        const program = life5(`
            const { instance } = await WebAssembly.instantiate(readFileSync('WORK/life.wasm'), wasi.getImportObject());
            process.exitCode = wasi.start(instance);`, returns);
        const { status, trace, stderr } = run(program, { args: ['x'] });
        assert.equal(status, 2, stderr);
        assert.equal(report(trace).outcome, 'exit 2');
        assert.match(kperf('replay', trace), /__wasi_proc_exit\(\); \/\* exit \*\//);
    }
});

const CALLS = `
    import { readFileSync } from 'node:fs';
    const module = new WebAssembly.Module(readFileSync('WORK/calls.wasm'));
    const guest = (call) => new WebAssembly.Instance(module, { host: { call } }).exports;
`;

test('process.exit inside of the guest', () => {
    const { status, trace } = run(`${CALLS} guest(() => process.exit(3)).outer(1);`);
    assert.equal(status, 3);
    assert.deepEqual(lines(trace), ['outer() {', '  inner(); /* exit */', '} /* outer: exit */']);
    assert.equal(report(trace).outcome, 'exit 3');
});

test('a trap that nobody catches', () => {
    // Node reports a module's error after the turn, when the kind of error is unknown.
    for (const [how, reason] of [
        ['guest(() => {}).crash();', 'host error'], ['setTimeout(() => guest(() => {}).crash());', 'trap'],
    ]) {
        const { status, trace, stderr } = run(CALLS + how);
        assert.equal(status, 1);
        assert.match(stderr, /RuntimeError: unreachable/);
        assert.deepEqual(lines(trace), ['crash() {', '  leaf();', `} /* crash: ${reason} */`]);
        assert.equal(report(trace).outcome, 'trap: unreachable');
    }
});

test('an error with a long message is told, and the trace with it', () => {
    const { status, stderr, trace } = run(`${CALLS} guest(() => {}).outer(1); throw new Error('long '.repeat(5000));`);
    assert.equal(status, 1);
    assert.match(stderr, /^kperf: 6 events of 5 functions: kperf-wasm report app.kperf$/m);
    assert.equal(report(trace).outcome.length > 20_000, true);
});

test('a process that is killed leaves what was handed over', () => {
    const program = `${CALLS.replace('{ readFileSync }', '{ existsSync, readFileSync }')}
        const { descend } = guest(() => {});
        for (let n = 0; n < 10; n++) descend(5000);
        // Until the writer has nothing left: on a busy machine more words are times, and the events fill more than
        // three blocks.
        let blocks = 0, since = 0;
        setInterval(() => {
            const now = existsSync('app.kperf') ? readFileSync('app.kperf', 'latin1').split('EVTS').length - 1 : 0;
            since = now === blocks ? since + 1 : 0;
            blocks = now;
            if (blocks >= 3 && since >= 25) process.kill(process.pid, 'SIGKILL');
        }, 20);`;
    const { signal, trace } = run(program);
    assert.equal(signal, 'SIGKILL');
    // Of 50,010 calls, all full blocks: all but what the last one had room for.
    assert.equal(report(trace).calls >= 50_010 - 16_000, true);
});

test('what a guest had recorded is written while it runs, once', async () => {
    // Some calls, a look of the writer, more calls, in one turn and in several; then two blocks full of them.
    const pause = 'const until = Date.now() + 350; while (Date.now() < until);';
    const program = `${CALLS}
        const { outer, descend } = guest(() => { ${pause} });
        outer(1);
        descend(3);
        outer(1);
        await new Promise((resolve) => setTimeout(resolve, 350));
        outer(1);
        for (let n = 0; n < 8; n++) descend(4999);
        outer(1);`;
    const { status, trace, stderr } = run(program, { env: { KPERF_CLOCK: 'precise' } });
    assert.equal(status, 0, stderr);
    const outer = ['outer() {', '  inner();', '  leaf();', '} /* outer */'];
    const descend = (times) => Array(times).fill(['descend() {', '} /* descend */']).flat();
    const expected = [...outer, ...descend(1), ...outer, ...outer, ...descend(8), ...outer];
    assert.deepEqual(lines(trace, '--depth', '2').filter((line) => line !== '  descend();'), expected);
    assert.equal(callsOf(trace, 'descend'), 40_004);
    const { warnings } = report(trace);
    assert.deepEqual(warnings, []);
});

test('worker threads are lanes of the same trace', () => {
    const program = `
        import { Worker, isMainThread } from 'node:worker_threads';
        ${CALLS}
        const { descend, leaf } = guest(() => {});
        if (isMainThread) {
            leaf();
            for (let n = 0; n < 2; n++) await new Promise((resolve) => new Worker(new URL(import.meta.url)).on('exit',
                resolve));
        } else {
            descend(20_000);
        }`;
    for (const clock of ['ticker', 'precise']) {
        const { status, trace, stderr } = run(program, { env: { KPERF_CLOCK: clock } });
        assert.equal(status, 0, stderr);
        assert.equal(callsOf(trace, 'descend'), 40_002);
        assert.equal(callsOf(trace, 'leaf'), 1);
        const info = kperf('info', trace);
        assert.match(info, /^lanes {8}3$/m);
        // All times are within the process's run: threads count from one moment.
        const { wall_nanos } = report(trace);
        assert.equal(wall_nanos > 1e6 && wall_nanos < 60e9, true, info);
    }
});

test('what a worker had recorded when it was terminated is kept', () => {
    const program = `
        import { Worker, isMainThread, parentPort } from 'node:worker_threads';
        ${CALLS}
        if (isMainThread) {
            const worker = new Worker(new URL(import.meta.url));
            await new Promise((resolve) => worker.on('message', resolve));
            if (process.argv[2] === 'terminate') await worker.terminate();
            else process.exit();
        } else {
            const { outer } = guest(() => {
                parentPort.postMessage('here');
                for (;;);
            });
            outer(1);
        }`;
    for (const how of ['terminate', 'exit']) {
        const { trace, stderr } = run(program, { args: [how] });
        assert.deepEqual(
            lines(trace), ['outer() {', '  inner(); /* unfinished */', '} /* outer: unfinished */'], stderr,
        );
    }
});

test('what a worker does until the end is there without a gap', () => {
    const { trace, stderr } = run(`
        import { Worker, isMainThread, parentPort } from 'node:worker_threads';
        ${CALLS}
        if (isMainThread) {
            await new Promise((resolve) => new Worker(new URL(import.meta.url)).on('message', resolve));
            setTimeout(() => process.exit(), 100);
        } else {
            const { descend } = guest(() => {});
            parentPort.postMessage('here');
            for (let n = 0; ; n++) {
                descend(50);
                kperf.mark(n);
            }
        }`);
    const marks =
        lines(trace, '--depth', '1').filter((line) => line.includes('mark')).map((line) => Number(/\d+/.exec(line)[0]));
    assert.equal(marks.length > 0, true, stderr);
    assert.deepEqual(marks.filter((mark, n) => mark !== n), [], stderr);
});

test('who answers the probes by hand is asked, and nobody else', { skip: PROBE !== 'import' }, () => {
    const program = `${CALLS.replace('{ host: { call } }', '{ host: { call }, kperf }')}
        const seen = [];
        const kperf = { enter: (id) => seen.push(id), leave: () => seen.push('leave'), unwind() {} };
        guest(() => {}).leaf();
        console.log(seen.join());`;
    const { stdout, trace } = run(program);
    assert.match(stdout, /^\d,leave\n$/);
    assert.equal(trace, undefined);
});

test('a program without probed modules runs as it did, and leaves nothing', () => {
    const program = `
        import { Worker, isMainThread } from 'node:worker_threads';
        const module = new WebAssembly.Module(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0));
        new WebAssembly.Instance(module);
        if (isMainThread) new Worker(new URL(import.meta.url));
        else console.log('ran');`;
    const { status, stdout, stderr, trace } = run(program);
    assert.deepEqual([status, stdout, stderr, trace], [0, 'ran\n', '', undefined]);
});

test('the environment says where and how', () => {
    const program = `${CALLS} guest(() => {}).leaf(); for (const name in process.env) delete process.env[name];`;
    const there = join(work, 'there-%p.kperf');
    const { cwd, stderr, trace } = run(program, { env: { KPERF_TRACE: there, KPERF_CLOCK: 'test' } });
    assert.equal(trace, undefined);
    const [, path] = /kperf-wasm report (.*)\n/.exec(stderr);
    assert.match(path, /there-\d+\.kperf$/);
    assert.match(replay(path), / 1\.000 us \| leaf\(\);/);
    rmSync(cwd, { recursive: true });
    assert.doesNotMatch(run(program, { env: { OTEL_SDK_DISABLED: 'true' } }).stderr, /^kperf: /m);
    assert.match(
        run(program, { env: { KPERF_CLOCK: 'sundial' } }).stderr, /unknown clock `sundial`: use auto, precise, ticker/,
    );
});

test('hooks show nothing', () => {
    const program = `
        const { instantiate, Instance } = WebAssembly;
        console.log(instantiate.name, instantiate.length, Instance.name, Object.keys(WebAssembly).length);
        await WebAssembly.instantiate(Uint8Array.of(1)).catch((error) => console.log(error.name));
        await WebAssembly.instantiate().catch((error) => console.log(error.name));
        try { new WebAssembly.Instance({}); } catch (error) { console.log(error.name); }`;
    const hooked = run(program).stdout;
    assert.equal(hooked, run(program, { env: { OTEL_SDK_DISABLED: 'true' } }).stdout);
    assert.match(hooked, /^instantiate 1 Instance \d\nCompileError\nTypeError\nTypeError\n$/);
});
