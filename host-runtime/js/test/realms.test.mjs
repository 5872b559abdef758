// `node --import kperf-wasm/register`: modules in worker threads, contexts and processes.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { folder, kperf, PACKAGE } from './support/cli.mjs';
import { assembleFib, callsOf as calls, FIB, major, REGISTER, run, work } from './support/program.mjs';

assembleFib();
kperf('rewrite', FIB, '-o', join(work, 'probed.wasm'));
const callsOf = (trace) => calls(trace, 'fib');
/** The number of calls of fib. */
const CALLS = { 5: 15, 6: 25, 7: 41, 8: 67 };

const LOAD = `const { readFileSync } = require('node:fs'); const fib = new WebAssembly.Instance(new WebAssembly.Module(readFileSync('FIB'))).exports.fib;`;

test('worker threads, whatever flags and environment they are given', () => {
    const program = `
        import { createRequire } from 'node:module';
        import { Worker, isMainThread } from 'node:worker_threads';
        const require = createRequire(import.meta.url);
        if (isMainThread) {
            for (const options of [undefined, {}, { env: { A: '1' } }, { execArgv: [] }, { execArgv: ['--no-warnings'],
                env: {} }]) {
                await new Promise((resolve, reject) => new Worker(new URL(import.meta.url), options).on('exit',
                    resolve).on('error', reject));
            }
        } else {
            ${LOAD}
            console.log(fib(5));
        }`;
    for (const how of [{}, { register: false, env: { NODE_OPTIONS: `--import ${REGISTER}` } }]) {
        const { stdout, stderr, trace } = run(program, how);
        assert.equal(stdout, '5\n'.repeat(5), stderr);
        assert.equal(callsOf(trace), 5 * CALLS[5], stderr);
    }
    // Filters are the same in threads with another environment.
    const { traces } = run(program, { env: { KPERF_SKIP: '*' } });
    assert.deepEqual(traces, []);
});

test('worker threads that begin with a text, and modules that they are sent', {
    skip: !process.features.require_module,
}, () => {
    const { stdout, stderr, trace } = run(`
        import { readFileSync } from 'node:fs';
        import { Worker } from 'node:worker_threads';
        const module = new WebAssembly.Module(readFileSync('FIB'));
        const code = "'use strict'; const { parentPort, workerData } = require('node:worker_threads'); parentPort.postMessage(new WebAssembly.Instance(workerData).exports.fib(5));";
        for (const options of [{}, { execArgv: [] }, { env: {} }, Object.create({ eval: true, workerData: module })]) {
            await new Promise((resolve, reject) => new Worker(code, Object.assign(options, { eval: true,
                workerData: module })).on('message', console.log).on('exit', resolve).on('error', reject));
        }`, { flags: ['--max-old-space-size=500', '--expose-gc'] });
    assert.equal(stdout, '5\n'.repeat(4), stderr);
    assert.equal(callsOf(trace), 4 * CALLS[5]);
});

test('what the program does when it ends', () => {
    const { stdout, stderr, trace } = run(`
        import { createRequire } from 'node:module';
        const require = createRequire(import.meta.url);
        ${LOAD}
        process.on('exit', () => console.log(fib(6)));
        console.log(fib(5));`);
    assert.equal(stdout, '5\n8\n', stderr);
    assert.equal(callsOf(trace), CALLS[5] + CALLS[6]);
});

for (const how of [
    'process.exit(5)', 'throw new Error("at the end")', 'process.exitCode = 9', 'process.reallyExit(4)',
]) {
    test(`a program that does \`${how}\` when it ends`, () => {
        const program = `
            import { createRequire } from 'node:module';
            const require = createRequire(import.meta.url);
            ${LOAD}
            process.on('exit', () => { fib(6); ${how}; });
            fib(5);`;
        const { status, stderr, trace } = run(program);
        assert.equal(status, run(program, { register: false }).status, stderr);
        assert.equal(callsOf(trace), CALLS[5] + CALLS[6]);
        assert.match(stderr, /kperf-wasm report app.kperf/);
    });
}

test('imports that throw where they are asked for what they don’t know', () => {
    const { stdout, stderr, trace } = run(`
        import { createRequire } from 'node:module';
        const require = createRequire(import.meta.url);
        const { readFileSync } = require('node:fs');
        const imports = new Proxy({}, { get: (_, name) => { throw new Error('missing import ' + name); } });
        console.log(new WebAssembly.Instance(new WebAssembly.Module(readFileSync('FIB')), imports).exports.fib(5));`);
    assert.equal(stdout, '5\n', stderr);
    assert.equal(callsOf(trace), CALLS[5]);
});

test('threads of threads', () => {
    const { stdout, stderr, trace } = run(`
        import { createRequire } from 'node:module';
        import { Worker, workerData } from 'node:worker_threads';
        const require = createRequire(import.meta.url);
        const depth = workerData ?? 0;
        ${LOAD}
        console.log(fib(5 + depth));
        if (depth < 2) new Worker(new URL(import.meta.url), { execArgv: [], workerData: depth + 1 });`);
    assert.equal(stdout.split('\n').sort().join(), ',13,5,8', stderr);
    assert.equal(callsOf(trace), CALLS[5] + CALLS[6] + CALLS[7]);
});

test('threads and processes that start in another folder', () => {
    const program = `
        import { fork } from 'node:child_process';
        import { createRequire } from 'node:module';
        import { fileURLToPath } from 'node:url';
        import { Worker, isMainThread } from 'node:worker_threads';
        const require = createRequire(import.meta.url);
        const ended = (started) => new Promise((resolve, reject) => started.on('exit',
            (code) => resolve(console.log('ended', code))).on('error', reject));
        ${LOAD}
        console.log(fib(5));
        if (isMainThread && !process.send) {
            await ended(fork(fileURLToPath(import.meta.url), [], { cwd: '/' }));
            process.chdir('/');
            for (const options of [undefined, { execArgv: [] }]) await ended(new Worker(new URL(import.meta.url),
                options));
        }`;
    const byName = 'kperf-wasm/register';
    for (const how of [
        { flags: ['--max-old-space-size=500', '--import', byName] }, { flags: [`--import=${byName}`] },
        { env: { NODE_OPTIONS: `--import ${byName}` } },
    ]) {
        const cwd = mkdtempSync(join(work, 'run-'));
        mkdirSync(join(cwd, 'node_modules'));
        symlinkSync(PACKAGE, join(cwd, 'node_modules/kperf-wasm'), 'junction');
        const { stdout, stderr, traces } = run(program, {
            ...how, cwd, register: false, env: { ...how.env, KPERF_TRACE: join(work, `folders-${Math.random()}-%p.kperf`) },
        });
        assert.equal(stdout, '5\n5\nended 0\n5\nended 0\n5\nended 0\n', stderr);
        assert.deepEqual(traces, []);
    }
});

test('contexts of vm, made in any way', () => {
    const { stdout, stderr, trace } = run(`
        import { readFileSync } from 'node:fs';
        import vm, { createContext, runInContext, runInNewContext, Script } from 'node:vm';
        const bytes = readFileSync('FIB');
        const run = 'new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports.fib(5)';
        const own = createContext({ bytes });
        console.log(runInContext(run, own), runInContext(run, own), runInNewContext(run, { bytes }),
            new Script(run).runInNewContext({ bytes }), vm.runInNewContext(run, { bytes }, { contextName: 'named' }));
        const { instance } = await runInContext('WebAssembly.instantiate(bytes)', own);
        console.log(instance.exports.fib(5), instance instanceof WebAssembly.Instance, runInContext('WebAssembly',
            own) === WebAssembly, Object.keys(instance.exports).join());
        const module = new WebAssembly.Module(bytes);
        own.module = module;
        console.log(runInContext('new WebAssembly.Instance(module).exports.fib(5)', own),
            runInContext('this.WebAssembly.Module.imports(module).length', own), Object.keys(own).join());
        const results = runInContext("globalThis.made = []; const p = WebAssembly.instantiate(bytes); p.then((both) => made.push(both instanceof Object, both.instance instanceof WebAssembly.Instance), made.push); const bad = WebAssembly.compile(new Uint8Array(3)); bad.catch((error) => made.push(error instanceof WebAssembly.CompileError)); [p instanceof Promise, WebAssembly.instantiate.length, WebAssembly.compile.name, Promise.all([p, bad.catch(() => 0)])]", own);
        await results.pop();
        console.log(results.join(), own.made.sort().join());
        console.log(runInNewContext('1 + 1'), runInContext('typeof WebAssembly', createContext()));`);
    assert.equal(
        stdout, '5 5 5 5 5\n5 false false fib\n5 0 bytes,module\ntrue,1,compile true,true,true\n2 object\n', stderr,
    );
    assert.equal(callsOf(trace), 7 * CALLS[5]);
});

test('processes of a program write a trace each', () => {
    const { stdout, stderr, traces, cwd } = run(`
        import { fork, spawnSync } from 'node:child_process';
        import cluster from 'node:cluster';
        import { createRequire } from 'node:module';
        const require = createRequire(import.meta.url);
        const ended = (child) => new Promise((resolve) => child.on('exit', resolve));
        if (cluster.isPrimary && process.argv[2] === undefined) {
            ${LOAD}
            fib(5);
            await Promise.all([cluster.fork({ N: '6' }), cluster.fork({ N: '6' })].map(ended));
            const file = import.meta.filename;
            await ended(fork(file, ['7']));
            await ended(fork(file, ['7'], { execArgv: ['--no-warnings'] }));
            await ended(fork(file, ['7'], { execArgv: [] }));
            spawnSync(process.execPath, [...process.execArgv, file, '8'], { stdio: 'inherit' });
        } else {
            ${LOAD}
            console.log(fib(Number(process.argv[2] ?? process.env.N)));
            process.exit();
        }`);
    assert.equal(stdout.split('\n').sort().join(), ',13,13,13,21,8,8', stderr);
    assert.equal(traces.filter((name) => /^app-\d+\.kperf$/.test(name)).length, 6, traces.join());
    const counts = traces.map((name) => callsOf(join(cwd, name))).sort((a, b) => a - b);
    assert.deepEqual(counts, [CALLS[5], CALLS[6], CALLS[6], CALLS[7], CALLS[7], CALLS[7], CALLS[8]]);
});

test('processes that are started by the path of node write a trace each, whatever starts them', () => {
    const { stdout, stderr, traces, cwd } = run(`
        import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
        import { once } from 'node:events';
        import { createRequire } from 'node:module';
        import { promisify } from 'node:util';
        const require = createRequire(import.meta.url);
        const [node, file, env] = [process.execPath, import.meta.filename, { ...process.env, N: '5' }];
        if (process.argv[2] !== undefined || process.env.N) {
            ${LOAD}
            console.log(fib(Number(process.argv[2] ?? process.env.N)));
        } else {
            const print = ({ stdout }) => process.stdout.write(String(stdout ?? 'none'));
            print(spawnSync(node, [file, '6']));
            print({ stdout: execFileSync(node, ['--no-warnings', file, '6'], { encoding: 'utf8' }) });
            print(await promisify(execFile)(node, [file, '6']));
            await once(execFile(node, [file, '6'], (error, stdout) => print({ stdout })), 'close');
            await once(spawn(node, [file, '6'], { stdio: 'inherit' }), 'exit');
            // Without arguments node reads the program from its stdin.
            print(spawnSync(node, { input: 'console.log(7, process.execArgv.length)' }));
            print(spawnSync(node, null, { input: 'console.log(7, process.execArgv.length)' }));
            print(spawnSync(node, ['-p', '8'], { env }));
            // These are not ours to change.
            print(spawnSync(node, ['--jitless', '-p', 'typeof WebAssembly']));
            print(spawnSync(JSON.stringify(node) + ' -p 9', { shell: true, env }));
            print(spawnSync('node', [file], { env: { ...env, PATH: '/nowhere' } }));
        }`);
    assert.equal(stdout, '8\n8\n8\n8\n8\n7 2\n7 2\n8\nundefined\n9\nnone', stderr);
    assert.deepEqual(traces.map((name) => callsOf(join(cwd, name))), Array(5).fill(CALLS[6]));
});

test('a name that has the process in it stays', () => {
    const { cwd, traces } = run(`
        import { fork } from 'node:child_process';
        import { createRequire } from 'node:module';
        const require = createRequire(import.meta.url);
        ${LOAD}
        console.log(fib(5));
        if (!process.argv[2]) fork(import.meta.filename, ['child']);`, { env: { KPERF_TRACE: 'of-%p.kperf' } });
    assert.equal(traces.length, 2);
    for (const name of traces) {
        assert.deepEqual([/^of-\d+\.kperf$/.test(name), callsOf(join(cwd, name))], [true, CALLS[5]]);
    }
});

test('`require` loads it too', { skip: major < 22 }, () => {
    const { stdout, stderr, trace } = run(
        `${LOAD} console.log(fib(5));`,
        { name: 'app.cjs', register: false, flags: ['--require', join(PACKAGE, 'dist/node/register.js')] },
    );
    assert.equal(stdout, '5\n', stderr);
    assert.equal(callsOf(trace), CALLS[5]);
});

test('modules that are imported', { skip: major < 24 }, () => {
    for (const wasm of ['fib.wasm', 'probed.wasm']) {
        const { stdout, stderr, trace } = run(`
            import { fib } from './app.wasm';
            import * as all from './app.wasm';
            import source module from './app.wasm';
            const { exports } = await WebAssembly.instantiate(module);
            console.log(fib(5), Object.keys(all).join(), exports.fib(6), WebAssembly.Module.imports(module).length,
                fib.name);`, {
                files: { 'app.wasm': readFileSync(join(work, wasm)) },
            });
        assert.match(stdout, /^5 fib 8 0 \d\n$/, stderr);
        assert.equal(callsOf(trace), CALLS[5] + CALLS[6]);
    }
});
