// `node --import kperf-wasm/register`: whatever fails in the recorder, the program runs as before, and one line says
// why nothing is recorded.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { folder, kperf, PACKAGE, probed } from './support/cli.mjs';
import { effort } from './support/effort.mjs';
import { assembled, assembleFib, FIB, LIFE, major, REGISTER, report, run, work } from './support/program.mjs';

assembleFib();
/** The number of calls of fib(5). */
const CALLS = 15;

const LOAD = `
    import { readFileSync } from 'node:fs';
    const bytes = readFileSync('FIB');
    const run = (bytes) => new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports.fib(5);
`;

const callsOf = (trace) => report(trace).functions
    .filter(({ name }) => name === 'fib')
    .reduce((sum, { calls }) => sum + calls, 0);
/** Asserts that the program ran and was recorded, without messages. */
function assertRecorded({ status, stdout, stderr, trace }, expected = '5\n', calls = CALLS) {
    assert.deepEqual([status, stdout], [0, expected], stderr);
    assert.match(stderr, /^kperf: \d+ events of \d+ functions?: kperf-wasm report app.kperf\n$/);
    assert.equal(callsOf(trace), calls);
}

test('the same module under several names', () => {
    assertRecorded(run(`${LOAD}
        import { createServer } from 'node:http';
        const server = createServer((_, answer) => answer.setHeader('content-type',
            'application/wasm').end(bytes)).listen(0);
        await new Promise((resolve) => server.on('listening', resolve));
        const at = (name) => fetch('http://localhost:' + server.address().port + '/' + name);
        for (const name of ['app.wasm', 'other.wasm',
            'app.wasm']) console.log((await WebAssembly.instantiateStreaming(at(name))).instance.exports.fib(5));
        console.log(run(bytes));
        server.close();
        server.closeAllConnections();`), '5\n5\n5\n5\n', 4 * CALLS);
});

test('the same module imported and loaded', { skip: major < 24 }, () => {
    const cwd = mkdtempSync(join(work, 'run-'));
    writeFileSync(join(cwd, 'fib.wasm'), readFileSync(FIB));
    assertRecorded(run(`${LOAD}
        import { fib } from './fib.wasm';
        console.log(fib(5), run(bytes));`, { cwd }), '5 5\n', 2 * CALLS);
});

test('modules with the same ids: the second one is not recorded', () => {
    const others = ['import', 'inline'].map((probe) => {
        const path = join(work, `other.${probe}.wasm`);
        kperf('rewrite', LIFE, '-o', path, '--probe', probe);
        return path;
    });
    kperf('rewrite', FIB, '-o', join(work, 'fib.probed.wasm'));
    for (const other of major < 22 ? others.slice(0, 1) : others) {
        const { status, stdout, stderr, trace } = run(`${LOAD}
            import { WASI } from 'node:wasi';
            console.log(run(readFileSync('${join(work, 'fib.probed.wasm')}')));
            const wasi = new WASI({ version: 'preview1', args: ['life', '5'] });
            for (let n = 0; n < 2; n++) {
                const { instance } = await WebAssembly.instantiate(readFileSync('${other}'), wasi.getImportObject());
                if (n === 1) wasi.start(instance);
            }`);
        assert.deepEqual([status, stdout], [0, '5\n5 steps, 19 live cells\n'], stderr);
        assert.match(
            stderr,
            /^kperf: a module is not recorded: two modules have the ids 0 to 0; rewrite them together, or one with ids from 1\nkperf: 30 events of 1 functions: kperf-wasm report app.kperf\n$/,
        );
        assert.equal(callsOf(trace), CALLS);
    }
});

test('a module that another version rewrote is not recorded', { skip: major < 22 && 'no probes inside' }, () => {
    const path = join(work, 'older.wasm');
    kperf('rewrite', FIB, '-o', path, '--probe', 'inline');
    const bytes = readFileSync(path);
    const at = bytes.indexOf('kperf.state.head');
    assert.notEqual(at, -1);
    bytes.write('kperf.state.past', at);
    writeFileSync(path, bytes);
    // More calls than fit a block.
    const { status, stdout, stderr, trace } = run(`
        import { readFileSync } from 'node:fs';
        const { instance } = await WebAssembly.instantiate(readFileSync('${path}'));
        console.log(instance.exports.fib(25));`);
    assert.deepEqual([status, stdout, trace], [0, '75025\n', undefined], stderr);
    assert.match(
        stderr,
        /^kperf: a module is not recorded: the module was rewritten by another version: rewrite the original with this one\n/,
    );
});

const RUN_LIFE = `
    import { readFileSync } from 'node:fs';
    import { WASI } from 'node:wasi';
    const wasi = new WASI({ version: 'preview1', args: ['life', '5'] });
    const { instance } = await WebAssembly.instantiate(readFileSync('LIFE'), wasi.getImportObject());
    wasi.start(instance);`;
/** Asserts that the Game of Life ran and was recorded. */
function assertLife({ status, stdout, stderr }) {
    assert.deepEqual([status, stdout], [0, '5 steps, 19 live cells\n'], stderr);
    assert.match(stderr, /^kperf: \d+ events of 152 functions: kperf-wasm report app.kperf\n$/);
}

test('what is kept and broken is replaced', () => {
    const cache = join(work, 'broken-cache');
    const env = { KPERF_CACHE: cache };
    assertLife(run(RUN_LIFE, { env }));
    const [name] = readdirSync(cache);
    const kept = readFileSync(join(cache, name));
    const changed = Buffer.from(kept);
    changed[kept.length - 100] ^= 1;
    for (const content of [
        ...effort([0, 40], [0, 1, 8, 32, 40, kept.length - 1]).map((length) => kept.subarray(0, length)), changed,
        'another version has written this',
    ]) {
        writeFileSync(join(cache, name), content);
        assertLife(run(RUN_LIFE, { env }));
        assert.equal(readFileSync(join(cache, name)).equals(kept), true);
    }
    assert.deepEqual(readdirSync(cache), [name]);
});

test('a cache that nobody can write to', () => {
    // A file, or a path below one, isn't a folder, even for root.
    writeFileSync(join(work, 'file'), '');
    const env = { KPERF_CACHE: undefined, XDG_CACHE_HOME: undefined, HOME: join(work, 'file') };
    for (const given of [env, { KPERF_CACHE: join(work, 'file') }, { KPERF_CACHE: '/proc/1/fd' }]) {
        assertLife(run(RUN_LIFE, { env: given }));
    }
});

test('a user without a home', { skip: process.getuid?.() !== 0 }, () => {
    const path = join(PACKAGE, 'dist/node/module-cache.js');
    const program = `const { cacheFolder } = await import('${pathToFileURL(path)}'); process.setuid(54321); console.log(cacheFolder({}));`;
    const { stdout, stderr } =
        spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8', env: {} });
    assert.deepEqual([stdout, stderr], ['undefined\n', '']);
});

for (const [name, program] of Object.entries({
    'a frozen Error': `Object.freeze(Error);`,
    'an Error without a limit': `delete Error.stackTraceLimit;`,
    'an Error that has its stack from the program': `Error.prepareStackTrace = () => { throw new Error('none of yours'); };`,
    'an Error with setters': `Object.defineProperty(Error, 'stackTraceLimit', { configurable: true, get: () => 3, set() { throw new Error('mine'); } });`,
})) {
    test(`a program with ${name}`, () => {
        const descriptors = `JSON.stringify(Object.getOwnPropertyDescriptors(Error), (_, value) => (typeof value === 'function' ? String(value) : value))`;
        assertRecorded(run(`${LOAD}
            ${program}
            const before = ${descriptors};
            console.log(run(bytes));
            if (${descriptors} !== before) console.log('changed', before, ${descriptors});`));
    });
}

test('bytes that are no module use up no ids', () => {
    // A function section with a count of 2^32 - 1.
    assertRecorded(run(`${LOAD}
        console.log(run(bytes));
        const claims = [0, 97, 115, 109, 1, 0, 0, 0, 3, 5, 255, 255, 255, 255, 15];
        for (let n = 0; n < 3; n++) {
            try {
                new WebAssembly.Module(Uint8Array.from([...claims, 0, 2, 1, n]));
            } catch (error) {
                console.log(error.name);
            }
        }
        console.log(run(Buffer.concat([bytes, Buffer.from([0, 2, 1,
            120])])));`), `5\n${'CompileError\n'.repeat(3)}5\n`, 2 * CALLS);
});

test('a process that has used up all ids', () => {
    const ids = pathToFileURL(join(PACKAGE, 'dist/common/hook/module-ids.js'));
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', `
        const { ModuleIds } = await import('${ids}');
        const ids = new ModuleIds();
        const key = (n) => n.toString(16).padStart(32, '0');
        console.log(ids.of(key(1), 100) === ids.of(key(1), 100), ids.of(key(2),
            2 ** 28) === new ModuleIds(ids.buffer).of(key(2), 2 ** 28));
        for (let n = 0; n < 2; n++) try { ids.of(key(3), 2 ** 28); } catch ({ message }) { console.log(message); }
        const few = Array.from({ length: 6000 }, (_, n) => ids.of(key(n + 4), 1));
        console.log(new Set(few).size, few.every((first, n) => ids.of(key(n + 4), 1) === first));`], {
            encoding: 'utf8',
        });
    const message = 'the modules have used up the ids for functions\n';
    assert.equal(stdout, `true true\n${message}${message}6000 true\n`, stderr);
});

test('frozen intrinsics leave nothing to hook into', () => {
    const { status, stdout, stderr, trace } =
        run(`${LOAD} console.log(run(bytes));`, { flags: ['--frozen-intrinsics'] });
    assert.deepEqual(
        [status, stdout, stderr, trace],
        [0, '5\n', 'kperf: nothing is recorded: WebAssembly is frozen (--frozen-intrinsics)\n', undefined],
    );
});

test('a program has a global `kperf` of its own', () => {
    assertRecorded(run(`${LOAD}
        globalThis.kperf = { mine: 1 };
        console.log(run(bytes), kperf.mine, JSON.stringify(Object.getOwnPropertyDescriptor(globalThis, 'kperf')));`),
        '5 1 {"value":{"mine":1},"writable":true,"enumerable":true,"configurable":true}\n');
});

test('a worker whose data has our name', () => {
    assertRecorded(run(`${LOAD}
        import { Worker, isMainThread, workerData } from 'node:worker_threads';
        if (isMainThread) new Worker(new URL(import.meta.url), { workerData: { kperf: 'writer',
            module: new WebAssembly.Module(bytes) } });
        else console.log(new WebAssembly.Instance(workerData.module).exports.fib(5));`));
});

test('a second copy of the package is not recorded, and records nothing', { skip: major < 22 }, () => {
    const copy = join(work, 'copy');
    cpSync(join(PACKAGE, 'dist'), join(copy, 'dist'), { recursive: true });
    writeFileSync(join(copy, 'package.json'), '{ "type": "module" }');
    const url = (file) => pathToFileURL(join(copy, 'dist/node', file)).href;
    // By hand it records what the program gives it.
    probed(FIB, join(work, 'of-copy.wasm'), '--probe', 'inline');
    const program = `${LOAD}
        const { createRecorder } = await import('${url('index.js')}');
        const recorder = createRecorder({ path: 'copy.kperf' });
        const { instance } = await recorder.instantiate(readFileSync('${work}/of-copy.wasm'));
        console.log(run(bytes), instance.exports.fib(5));
        await recorder.finish();`;
    const { stdout, stderr, traces, cwd } = run(program, { flags: ['--import', REGISTER, '--import', url('register.js')] });
    assert.equal(stdout, '5 5\n', stderr);
    assert.match(stderr, /^kperf: there are two copies of kperf-wasm: \S+ records the program, \S+copy\S+ does nothing\nkperf: 30 events of 1 functions: .*\n$/);
    assert.deepEqual(traces.map((name) => callsOf(join(cwd, name))), [CALLS, CALLS]);
});

test('runtimes and engines that can record nothing are named in one line', () => {
    const other = (key) => `data:text/javascript,Object.defineProperty(process, 'versions', { value: { ...process.versions, ${key}: '1.2' } })`;
    for (const [key, name] of [['bun', 'Bun'], ['deno', 'Deno']]) {
        const { stdout, stderr, traces } = run(`${LOAD} console.log(run(bytes));`, { flags: ['--import', other(key)] });
        assert.deepEqual([stdout, traces], ['5\n', []]);
        assert.equal(stderr, `kperf: nothing is recorded: ${name} 1.2 is not supported: run the program in Node.js\n`);
    }
    if (major >= 22) return;
    const { stdout, stderr } = run(`${LOAD} console.log(run(bytes));`, { env: { KPERF_RECORD: 'profile' } });
    assert.equal(stdout, '5\n');
    const reason = 'a profile needs Node.js 22 or newer; KPERF_RECORD=trace records a trace';
    assert.equal(stderr, `kperf: nothing is recorded: ${reason}\n`);
});

test('functions without a probe are named, also when the module is in the cache', () => {
    const local = `(local ${'i32 '.repeat(49_999)})`;
    const full = Array.from({ length: 5 }, (_, n) => `(func $full${n} (param i32) (result i32) ${local} (local.get 0))`);
    // Smaller modules aren't kept.
    assembled('full.wasm', `(module (memory 1) (data (i32.const 0) "${'x'.repeat(1 << 15)}") ${full.join(' ')}
        (func $ok (export "ok") (result i32) (call $full0 (i32.const 5))))`);
    const env = { KPERF_CACHE: join(work, 'of-full') };
    for (const kept of [0, 1]) {
        assert.equal(existsSync(env.KPERF_CACHE) ? readdirSync(env.KPERF_CACHE).length : 0, kept);
        const { stdout, stderr } = run(`
            import { readFileSync } from 'node:fs';
            const module = await WebAssembly.compile(readFileSync('WORK/full.wasm'));
            const { length } = WebAssembly.Module.customSections(module, 'kperf.warnings');
            console.log(new WebAssembly.Instance(module).exports.ok(), length);
        `, { env });
        assert.equal(stdout, '5 0\n');
        const lines = [0, 1, 2].map((n) => `kperf: wasm-\\w+: no probe in \`full${n}\` .*no room for a local.*\\n`);
        assert.match(stderr, new RegExp(lines.join('')));
        assert.match(stderr, /^kperf: wasm-\w+: 2 more warnings, which `kperf-wasm rewrite` shows$/m);
    }
});

test('modules that are not recorded are named by the report of the others, also those of threads', () => {
    for (const [name, end] of [['main', ''], ['thread', `process.kill(process.pid, 'SIGTERM'); setTimeout(() => {}, 60_000);`]]) {
        const module = `(module (import "kperf" "enter" (func (param i32) (result i32))) (func (export "${name}")))`;
        assembled(`refused-${name}.wasm`, module);
        const { stdout, trace } = run(`
            import { readFileSync } from 'node:fs';
            import { isMainThread, Worker } from 'node:worker_threads';
            const load = (file) => WebAssembly.instantiate(readFileSync(file), { kperf: { enter: () => 0 } });
            const { instance } = await load('FIB');
            console.log(instance.exports.fib(5));
            if (isMainThread) await new Promise((resolve) => new Worker(new URL(import.meta.url)).on('exit', resolve));
            if (isMainThread === ${name === 'main'}) await load('WORK/refused-${name}.wasm');
            if (isMainThread) { ${end} }`);
        assert.equal(stdout, '5\n5\n');
        assert.equal(callsOf(trace), 2 * CALLS);
        const found = report(trace).warnings.filter((line) => line.includes('without probes'));
        assert.equal(found.length, 1, JSON.stringify(report(trace).warnings));
        assert.match(found[0], /^wasm-\w+ runs without probes: the module uses the name `kperf.enter`/);
    }
});

test('a large module that is refused is refused from the cache at the next start', () => {
    assembled('refused.wasm', `(module (import "kperf" "enter" (func (param i32) (result i32))) (memory 32)
        (data (i32.const 0) "${'x'.repeat(1.1 * 2 ** 20)}") (func (export "five") (result i32) (i32.const 5)))`);
    const env = { KPERF_CACHE: join(work, 'of-refused') };
    const found = [0, 1].map(() => run(`
        import { readFileSync } from 'node:fs';
        const imports = { kperf: { enter: () => 0 } };
        const { instance } = await WebAssembly.instantiate(readFileSync('WORK/refused.wasm'), imports);
        console.log(instance.exports.five());`, { env }));
    for (const { stdout, stderr } of found) {
        assert.equal(stdout, '5\n');
        assert.match(stderr, /^kperf: wasm-\w+ runs without probes: .*kperf.*\n$/);
    }
    const kept = readdirSync(env.KPERF_CACHE);
    assert.deepEqual([kept.length, found[0].stderr], [1, found[1].stderr]);
});

test('settings that make no sense are told in one line', () => {
    for (const [env, line] of [
        [{ KPERF_CLOCK: 'sundial' }, /^kperf: KPERF_CLOCK: unknown clock `sundial`: .*\n$/],
        [{ KPERF_PERIOD: 'often' }, /^kperf: KPERF_PERIOD: `often` is not a .*\n$/],
        [{ KPERF_PROBE: 'some' }, /^kperf: KPERF_PROBE is `some`: .*\n$/],
        [{ KPERF_RECORD: 'all' }, /^kperf: KPERF_RECORD is `all`: use trace or profile\n$/],
        [{ KPERF_SPAN_RATE: 'many' }, /^kperf: KPERF_SPAN_RATE is `many`: use a number of spans a second, or all\n$/],
    ]) {
        const { status, stdout, stderr } = run(`${LOAD} console.log(run(bytes));`, { env });
        assert.deepEqual([status, stdout], [1, ''], JSON.stringify(env));
        assert.match(stderr, line);
    }
});

test('empty settings are none', () => {
    const names = [
        'TRACE', 'RECORD', 'PERIOD', 'SPAN_MIN', 'EVERY', 'CLOCK', 'CALIBRATE', 'QUIET', 'PROBE', 'ONLY',
        'SKIP', 'MATCH', 'MIN_INSTRUCTIONS', 'EXPORTS', 'IMPORTS', 'LEAF', 'CACHE',
    ];
    const env = Object.fromEntries(names.map((name) => [`KPERF_${name}`, '']));
    assertRecorded(run(`${LOAD} console.log(run(bytes));`, { env: { ...env, XDG_CACHE_HOME: join(work, 'xdg') } }));
});

test('a recording that can not begin', () => {
    // Any failure at that moment.
    const reason = 'nobody counts the processors';
    const cpus = pathToFileURL(join(work, 'no-processors.cjs'));
    writeFileSync(
        cpus,
        `require('node:os').availableParallelism = () => { throw new Error('${reason}'); }; require('node:module').syncBuiltinESMExports();`,
    );
    const { status, stdout, stderr, trace } = run(`${LOAD}
        import { Worker } from 'node:worker_threads';
        for (let n = 0; n < 2; n++) console.log(run(bytes));
        new Worker('console.log(1)', { eval: true });`, {
            env: { KPERF_CLOCK: 'ticker' }, flags: ['--import', cpus.href],
        });
    assert.deepEqual([status, stdout, stderr, trace], [
        0, '5\n5\n1\n', `kperf: a module is not recorded: ${reason}\nkperf: not all is recorded: ${reason}\n`,
        undefined,
    ]);
});

/** Starts recording processes, which return their pid and output when they are ended. */
async function together(count, cwd) {
    writeFileSync(
        join(cwd, 'app.mjs'), `${LOAD} console.log(run(bytes)); process.stdin.resume();`.replaceAll('FIB', FIB),
    );
    const children = Array.from({ length: count }, () => spawn(
        process.execPath, ['--no-warnings', '--import', REGISTER, 'app.mjs'],
        { cwd, env: { ...process.env, KPERF_CACHE: join(work, 'cache') } },
    ));
    // A process left by a failed test would keep this one alive.
    after(() => children.forEach((child) => child.kill('SIGKILL')));
    return Promise.all(children.map(async (child) => {
        let stderr = '';
        child.stderr.on('data', (text) => (stderr += text));
        await once(child.stdout, 'data');
        return { child, end: async () => { child.stdin.end(); await once(child, 'close'); return stderr; } };
    }));
}

test('processes with the same file at once have a trace each', async () => {
    const cwd = mkdtempSync(join(work, 'run-'));
    // Also if there is an earlier process's trace.
    for (let round = 0; round < 4; round++) {
        const processes = await together(3, cwd);
        const said = await Promise.all(processes.map(({ end }) => end()));
        const moved = said.filter((stderr) => stderr.includes('at the same time'));
        assert.equal(moved.length, 2, said.join());
        assert.match(
            moved[0],
            /^kperf: app.kperf belongs to process \d+, which ran at the same time; the trace of this process is (app-\d+.kperf)\nkperf: 30 events of 1 functions: kperf-wasm report \1\n$/,
        );
    }
    const traces = readdirSync(cwd).filter((name) => name.endsWith('.kperf'));
    assert.equal(traces.length, 9);
    for (const name of traces) assert.equal(callsOf(join(cwd, name)), CALLS, name);
});

test('a process that was killed leaves its trace, until the next one takes the name', async () => {
    const cwd = mkdtempSync(join(work, 'run-'));
    const [{ child }] = await together(1, cwd);
    // Lanes are read ten times a second; before the first read there is no trace.
    const callsSoFar = () => {
        try {
            return callsOf(join(cwd, 'app.kperf'));
        } catch {
            return 0;
        }
    };
    while (callsSoFar() < CALLS) await sleep(20);
    child.kill('SIGKILL');
    await once(child, 'close');
    assert.equal(callsOf(join(cwd, 'app.kperf')), CALLS);
    assertRecorded(run(`${LOAD} console.log(run(bytes));`, { cwd }));
    assert.deepEqual(readdirSync(cwd).filter((name) => name.endsWith('.kperf')), ['app.kperf']);
});

test('shared memory is no source where the engine says so', () => {
    const program = `${LOAD}
        const shared = new SharedArrayBuffer(bytes.length);
        new Uint8Array(shared).set(bytes);
        for (const source of [shared, new Uint8Array(shared)]) {
            for (const act of [() => new WebAssembly.Module(source), () => WebAssembly.compile(source),
                () => WebAssembly.instantiate(source)]) {
                try {
                    const made = await act();
                    console.log('taken', new WebAssembly.Instance(made.module ?? made).exports.fib(5));
                } catch (error) {
                    console.log(String(error));
                }
            }
        }`;
    const cwd = mkdtempSync(join(work, 'run-'));
    const { stdout, stderr, trace } = run(program, { cwd });
    assert.equal(stdout, spawnSync(process.execPath, ['app.mjs'], { cwd, encoding: 'utf8' }).stdout);
    assert.equal(stdout.split('\n').length, 7);
    const taken = stdout.split('taken').length - 1;
    if (taken > 0) assert.equal(callsOf(trace), taken * CALLS, stderr);
});

test('a module that was cloned or posted has no table to be seen', () => {
    kperf('rewrite', FIB, '-o', join(work, 'fib.table.wasm'));
    assertRecorded(run(`${LOAD}
        import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';
        const { port1, port2 } = new MessageChannel();
        const module = new WebAssembly.Module(bytes);
        port1.postMessage(module);
        // A program that rewrites a module itself sees its table.
        for (const seen of [module, structuredClone(module), receiveMessageOnPort(port2).message,
            new WebAssembly.Module(readFileSync('${join(work, 'fib.table.wasm')}'))]) {
            console.log(WebAssembly.Module.customSections(seen, 'kperf.symbols').length,
                new WebAssembly.Instance(seen).exports.fib(5));
        }
        port1.close();`), '0 5\n0 5\n0 5\n1 5\n', 4 * CALLS);
});

test('more instances than the ticker serves are recorded too', { skip: major < 22 }, () => {
    const { status, stdout, stderr, trace } = run(`${LOAD}
        const module = new WebAssembly.Module(bytes);
        const all = Array.from({ length: 300 }, () => new WebAssembly.Instance(module));
        for (const { exports } of all) exports.fib(5);
        console.log(all.at(-1).exports.fib(20));`, { env: { KPERF_CLOCK: 'ticker' } });
    assert.deepEqual([status, stdout], [0, '6765\n'], stderr);
    assert.equal(callsOf(trace), 300 * CALLS + 21891);
});

test('a recorder that samples what is allocated, beside a ticker', {
    skip: major < 22 && 'needs a recorder inside the module',
}, () => {
    assembled('pool.wasm', `(module (memory (export "memory") 1) (global $at (mut i32) (i32.const 16))
        (func $malloc (export "malloc") (param i32) (result i32)
            (global.set $at (i32.add (global.get $at) (local.get 0))) (i32.sub (global.get $at) (local.get 0))))`);
    const { status, stdout, stderr, trace } = run(`
        import { readFileSync } from 'node:fs';
        const { instance } = await WebAssembly.instantiate(readFileSync('${join(work, 'pool.wasm')}'));
        for (let n = 0; n < 1000; n += 1) instance.exports.malloc(16);
        // Meanwhile the ticker's thread gets the recorder's memory.
        await new Promise((resolve) => setTimeout(resolve, 500));
        console.log('done');`, { env: { KPERF_ALLOCATIONS: '256', KPERF_CLOCK: 'ticker' } });
    assert.deepEqual([status, stdout], [0, 'done\n'], stderr);
    assert.equal(
        JSON.parse(kperf('report', trace, '--format', 'json')).functions.find(({ name }) => name === 'malloc').calls,
        1000,
    );
});
