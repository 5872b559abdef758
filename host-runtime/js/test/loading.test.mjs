// `node --import kperf-wasm/register`: modules without probes get them when a program loads them, and the program
// doesn't notice.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { folder, hasMultiMemory, kperf, PACKAGE } from './support/cli.mjs';
import { assembled, callsOf, LIFE, lines, namesOf, report, run, work } from './support/program.mjs';

assembled('calls.wasm', readFileSync('test/programs/calls.wat', 'utf8'));
assembled('hello.wasm', `(module
    (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
    (memory (export "memory") 1) (data (i32.const 16) "hello\\n")
    (func $say (i32.store (i32.const 0) (i32.const 16)) (i32.store (i32.const 4) (i32.const 6))
        (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))))
    (func (export "_start") (call $say) (call $proc_exit (i32.const 7))))`);

const RUN_LIFE = `
    import { readFileSync } from 'node:fs';
    import { WASI } from 'node:wasi';
    const wasi = new WASI({ version: 'preview1', args: ['life', '5'] });
    const bytes = readFileSync('LIFE');
`;
const WAYS = {
    'instantiate(bytes)': `const { instance } = await WebAssembly.instantiate(bytes, wasi.getImportObject());`,
    compile: `const instance = await WebAssembly.instantiate(await WebAssembly.compile(bytes), wasi.getImportObject());`,
    'new Module': `const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes), wasi.getImportObject());`,
    'a part of a buffer': `const all = new Uint8Array(bytes.length + 7); all.set(bytes, 3);
        const instance = new WebAssembly.Instance(new WebAssembly.Module(all.subarray(3, 3 + bytes.length)),
            wasi.getImportObject());`,
    compileStreaming: `const response = Promise.resolve(new Response(bytes, { headers: { 'content-type': 'application/wasm' } }));
        const instance = await WebAssembly.instantiate(await WebAssembly.compileStreaming(response),
            wasi.getImportObject());`,
    instantiateStreaming: `const response = new Response(bytes, { headers: { 'content-type': 'application/wasm' } });
        const { instance } = await WebAssembly.instantiateStreaming(response, wasi.getImportObject());`,
};

for (const [name, how] of Object.entries(WAYS)) {
    test(`an untouched module gets probes: ${name}`, () => {
        for (const probe of ['auto', 'import']) {
            const { status, stdout, stderr, trace } =
                run(`${RUN_LIFE}${how}\nwasi.start(instance);`, { env: { KPERF_PROBE: probe } });
            assert.equal(stdout, '5 steps, 19 live cells\n');
            assert.match(stderr, /^kperf: \d+ events of 152 functions: kperf-wasm report app.kperf\n$/);
            assert.equal(status, 0);
            assert.equal(callsOf(trace, 'life::is_valid_position'), 16_000);
        }
    });
}

test('each function has as many calls as where the command has rewritten it', () => {
    const probed = join(work, 'life.probed.wasm');
    kperf('rewrite', LIFE, '-o', probed);
    const program = `${RUN_LIFE}${WAYS['new Module']}\nwasi.start(instance);`;
    const counts = (trace) => Object.fromEntries(report(trace).functions.map(({ name, calls }) => [name, calls]));
    const expected = counts(run(program.replace('LIFE', probed)).trace);
    assert.deepEqual(counts(run(program).trace), expected);
});

test('the filters are those of the command', () => {
    const program = `${RUN_LIFE}${WAYS.compile}\nwasi.start(instance);`;
    for (const [env, names] of [
        [{ KPERF_ONLY: 'life::is_*' }, ['life::is_valid_position']],
        [{ KPERF_ONLY: 'life::*\nnowhere', KPERF_SKIP: 'life::[!i]*\nin no module' }, ['life::is_valid_position']],
        [{ KPERF_ONLY: '::is_valid', KPERF_MATCH: 'text' }, ['life::is_valid_position']],
        [{ KPERF_EXPORTS: '1' }, ['_start.command_export']],
    ]) {
        assert.deepEqual(namesOf(run(program, { env }).trace), names, JSON.stringify(env));
    }
    const { trace } = run(program, { env: { KPERF_IMPORTS: '1', KPERF_MIN_INSTRUCTIONS: '100000' } });
    assert.deepEqual(
        namesOf(trace).every((name) => name.startsWith('wasi_snapshot_preview1.')), true, namesOf(trace).join(),
    );
    const none = run(program, { env: { KPERF_PROBE: 'none' } });
    assert.deepEqual([none.trace, none.stderr], [undefined, '']);
});

test('functions of a plan have no probes', () => {
    const program = `${RUN_LIFE}${WAYS.compile}\nwasi.start(instance);`;
    const plan = join(work, 'life.plan');
    const all = namesOf(run(program).trace);
    writeFileSync(plan, '# 1 call\nskip life::is_valid_position\r\nskip of another module\n');
    const { trace, stderr } = run(program, { env: { KPERF_PLAN: plan } });
    assert.deepEqual(namesOf(trace), all.filter((name) => name !== 'life::is_valid_position'));
    assert.doesNotMatch(stderr, /plan|no function/);
    writeFileSync(plan, 'life::step\n');
    for (const [path, message] of [[plan, /KPERF_PLAN: line 1 of `.*` is neither `skip/], [join(work, 'no.plan'), /KPERF_PLAN: ENOENT/]]) {
        const bad = run(program, { env: { KPERF_PLAN: path } });
        assert.equal(bad.status, 1);
        assert.match(bad.stderr, message);
    }
});

test('filters that leave nothing of all modules are told, and bad ones', () => {
    const program = `${RUN_LIFE}${WAYS.compile}\nwasi.start(instance);`;
    const nothing = run(program, { env: { KPERF_ONLY: 'nowhere' } });
    assert.deepEqual(
        [nothing.stdout, nothing.stderr, nothing.trace],
        [
            '5 steps, 19 live cells\n',
            'kperf: KPERF_ONLY, KPERF_SKIP, KPERF_PLAN, KPERF_MIN_INSTRUCTIONS and KPERF_EXPORTS select no function of the program\'s 1 module\n',
            undefined,
        ],
    );
    assembled('refused.wasm', `(module (import "kperf" "enter" (func (param i32) (result i32))) (func))`);
    const refuse = `await WebAssembly.instantiate(readFileSync('WORK/refused.wasm'), { kperf: { enter: () => 0 } });`;
    const other = run(`${program}\n${refuse}`, { env: { KPERF_ONLY: 'nowhere' } });
    assert.match(other.stderr, /^kperf: wasm-[0-9a-f]{8} runs without probes: .*\nkperf: KPERF_ONLY,.* the program's 1 other module\n$/);
    // The second time from the cache. Each line comes once, however often the module is loaded.
    for (const kept of [false, true]) {
        const { stderr, trace } = run(`${program}\nawait WebAssembly.compile(readFileSync('LIFE'));`, {
            env: { KPERF_ONLY: 'life::is_*\nis_valid', KPERF_SKIP: 'nowhere', KPERF_CACHE: join(work, 'of-filters') },
        });
        assert.deepEqual(namesOf(trace), ['life::is_valid_position']);
        const found = stderr.match(/(?<=^kperf: wasm-[0-9a-f]{8}: )no function.*$/gm);
        const hint = 'no function\'s name matches `is_valid`; did you mean `*is_valid*`?';
        assert.deepEqual(found, [hint, 'no function\'s name matches `nowhere`'], `${kept} ${stderr}`);
    }
    for (const [env, message] of [
        [{ KPERF_ONLY: 'life::*\na[b' }, 'KPERF_ONLY: bad pattern `a[b`: unclosed character class'],
        [{ KPERF_SKIP: '/(/' }, 'KPERF_SKIP: bad pattern `/(/`: '],
    ]) {
        const bad = run(program, { env });
        assert.deepEqual([bad.stdout, bad.trace], ['5 steps, 19 live cells\n', undefined]);
        assert.match(bad.stderr, /^kperf: wasm-[0-9a-f]{8} runs without probes: [^\n]*\n$/);
        assert.equal(bad.stderr.includes(message), true, bad.stderr);
    }
    for (const [env, message] of [
        [{ KPERF_PROBE: 'inlined' }, 'KPERF_PROBE is `inlined`: use auto, import, inline or none'],
        [{ KPERF_MATCH: 'globs' }, 'KPERF_MATCH is `globs`: use auto, glob, regex or text'],
        [{ KPERF_MIN_INSTRUCTIONS: 'ten' }, 'KPERF_MIN_INSTRUCTIONS is `ten`: use a number'],
    ]) {
        const { status, stderr } = run(program, { env });
        assert.deepEqual([status, stderr.includes(message)], [1, true], stderr);
    }
});

test('a profile of an untouched module', { skip: !hasMultiMemory }, () => {
    const { stdout, stderr, trace } =
        run(`${RUN_LIFE}${WAYS.compile}\nwasi.start(instance);`, { env: { KPERF_RECORD: 'profile' } });
    assert.equal(stdout, '5 steps, 19 live cells\n');
    assert.match(stderr, /^kperf: a profile of 152 functions/);
    assert.equal(callsOf(trace, 'life::is_valid_position'), 16_000);
});

/** Everything that a program can see of a module and its instance. */
const LOOK = `
    const descriptor = (of, name) => { const { value, get, ...rest } = Object.getOwnPropertyDescriptor(of, name);
        return { ...rest, name: (value ?? get).name, length: (value ?? get).length }; };
    const seen = (module, instance) => JSON.stringify([
        WebAssembly.Module.imports(module), WebAssembly.Module.exports(module),
        ['name', 'producers', 'target_features', 'kperf.symbols',
            'none'].map((name) => WebAssembly.Module.customSections(module, name).map((section) => Buffer.from(section)
                .toString('hex'))),
        Object.entries(Object.getOwnPropertyDescriptors(instance.exports)).map(([name, { value, ...rest }]) => [name,
            rest, typeof value, value.length]),
        Object.isFrozen(instance.exports), Object.getPrototypeOf(instance.exports),
            instance.exports === instance.exports,
        module instanceof WebAssembly.Module, instance instanceof WebAssembly.Instance,
            module.constructor === WebAssembly.Module, instance.constructor === WebAssembly.Instance,
        String(module), String(instance), Object.getOwnPropertyNames(WebAssembly.Module).sort(),
            Object.getOwnPropertyNames(instance),
        ['compile', 'instantiate', 'compileStreaming', 'instantiateStreaming', 'Module', 'Instance',
            'validate'].map((name) => descriptor(WebAssembly, name)),
        ['imports', 'exports', 'customSections'].map((name) => descriptor(WebAssembly.Module, name)),
            descriptor(WebAssembly.Instance.prototype, 'exports'),
    ]);`;

test('a program sees its modules and instances as they were', () => {
    const program = `${RUN_LIFE}${LOOK}
        for (const module of [new WebAssembly.Module(bytes),
            await WebAssembly.compile(bytes)]) console.log(seen(module, new WebAssembly.Instance(module,
                wasi.getImportObject())));
        const { module, instance } = await WebAssembly.instantiate(bytes, wasi.getImportObject());
        console.log(seen(module, instance));`;
    const plain = run(program, { register: false });
    const { stdout, stderr } = run(program);
    assert.equal(stdout, plain.stdout);
    assert.match(stderr, /events of 152 functions/);
    assert.equal(plain.stdout.length > 5000, true);
});

test('errors are those of the engine', () => {
    const program = `
        import { readFileSync } from 'node:fs';
        const bytes = readFileSync('LIFE');
        const response = (bytes, type = 'application/wasm', status = 200) => new Response(bytes, { status,
            headers: { 'content-type': type } });
        const invalid = Buffer.from('0061736d0100000001040160000003020100070801046d61696e00000a0501030041000b', 'hex');
        const module = new WebAssembly.Module(bytes);
        for (const act of [
            () => new WebAssembly.Module(bytes.subarray(0, 5000)), () => WebAssembly.compile(bytes.subarray(0, 5000)),
                () => WebAssembly.compile(), () => WebAssembly.compile(7),
            () => new WebAssembly.Module(), () => WebAssembly.Module(bytes), () => new WebAssembly.Module(invalid),
                () => WebAssembly.compile(invalid),
            () => WebAssembly.instantiate(bytes.subarray(0, 99), {}), () => WebAssembly.instantiate(module),
                () => WebAssembly.instantiate(module, 7), () => WebAssembly.instantiate(module, {}),
            () => new WebAssembly.Instance(module), () => new WebAssembly.Instance(module,
                { wasi_snapshot_preview1: {} }), () => new WebAssembly.Instance(module, { wasi_snapshot_preview1: 7 }),
            () => WebAssembly.compileStreaming(response(bytes, 'text/plain')),
                () => WebAssembly.compileStreaming(response(bytes, 'application/wasm', 404)),
                    () => WebAssembly.compileStreaming(response(invalid)),
            () => WebAssembly.compileStreaming(7), () => WebAssembly.Module.imports(),
                () => WebAssembly.Module.exports({}), () => WebAssembly.Module.customSections(module),
            () => WebAssembly.compileStreaming(Promise.reject(new Error('no answer'))),
        ]) {
            try {
                await act();
                console.log('no error');
            } catch (error) {
                console.log(String(error), error.constructor.name);
            }
        }`;
    const plain = run(program, { register: false });
    const { stdout } = run(program);
    assert.equal(stdout, plain.stdout);
    assert.equal(plain.stdout.split('\n').length, 24);
});

const HELLO = `
    import { readFileSync } from 'node:fs';
    const bytes = readFileSync('WORK/hello.wasm');
    let memory;
    const write = (_fd, list, count, written) => {
        const view = new DataView(memory.buffer);
        const [at, length] = [view.getUint32(list, true), view.getUint32(list + 4, true)];
        process.stdout.write(Buffer.from(memory.buffer, at, length));
        view.setUint32(written, length, true);
        return 0;
    };
    const exit = (code) => { throw new Error('exit ' + code); };
    const start = ({ exports }) => {
        memory = exports.memory;
        try { exports._start(); } catch ({ message }) { console.log(message); }
        console.log(Object.keys(exports).join());
    };
`;

for (const [name, program] of Object.entries({
    'a WASI object with methods on its prototype': `class Wasi { fd_write(...given) { return write(...given); } proc_exit(code) { exit(code); } }
        start((await WebAssembly.instantiate(bytes, { wasi_snapshot_preview1: new Wasi() })).instance);`,
    'a WASI object that is a Proxy': `const wasi = new Proxy({}, { get: (_, name) => ({ fd_write: write, proc_exit: exit })[name] ?? (() => 0) });
        start((await WebAssembly.instantiate(bytes, { wasi_snapshot_preview1: wasi })).instance);`,
    'imports that are a Proxy with an answer for every module': `const all = new Proxy({}, { get: () => new Proxy({}, { get: (_, name) => ({ fd_write: write, proc_exit: exit })[name] ?? (() => 0) }) });
        start((await WebAssembly.instantiate(bytes, all)).instance);`,
    'stubs for whatever the module imports': `const module = new WebAssembly.Module(bytes);
        const imports = {};
        for (const { module: from, name } of WebAssembly.Module.imports(module)) (imports[from] ??= {})[name] = ({ fd_write: write, proc_exit: exit })[name] ?? (() => 0);
        start(new WebAssembly.Instance(module, imports));`,
    'imports on a prototype': `start(new WebAssembly.Instance(new WebAssembly.Module(bytes), Object.create({ wasi_snapshot_preview1: Object.create({ fd_write: write, proc_exit: exit }) })));`,
})) {
    test(`what a program supplies arrives: ${name}`, () => {
        const probed = join(work, 'hello.probed.wasm');
        kperf('rewrite', join(work, 'hello.wasm'), '-o', probed);
        const plain = run(HELLO + program, { register: false });
        assert.equal(plain.stdout, 'hello\nexit 7\nmemory,_start\n');
        // Modules that the command has rewritten are recorded in the same way.
        for (const text of [HELLO + program, (HELLO + program).replace('WORK/hello.wasm', probed)]) {
            const { stdout, stderr, trace } = run(text);
            assert.equal(stdout, plain.stdout, stderr);
            assert.deepEqual(lines(trace), ['_start() {', '  say();', '} /* _start: exit */']);
        }
    });
}

test('modules do not collide, whoever has given them their ids', () => {
    const probed = join(work, 'calls.probed.wasm');
    kperf('rewrite', join(work, 'calls.wasm'), '-o', probed);
    const program = `
        import { readFileSync } from 'node:fs';
        import { Worker, isMainThread } from 'node:worker_threads';
        const load = (path) => new WebAssembly.Instance(new WebAssembly.Module(readFileSync(path)),
            { host: { call() {} }, wasi_snapshot_preview1: { fd_write: () => 0, proc_exit() {} } }).exports;
        if (isMainThread) {
            load('WORK/hello.wasm')._start();
            load('${probed}').leaf();
            for (let n = 0; n < 2; n++) await new Promise((resolve) => new Worker(new URL(import.meta.url)).on('exit',
                resolve));
        } else {
            load('WORK/calls.wasm').leaf();
            load('WORK/hello.wasm')._start();
        }`;
    const { status, stderr, trace } = run(program, { env: { KPERF_CLOCK: 'precise' } });
    assert.equal(status, 0, stderr);
    // The same module is the same one in all threads; calls.wasm is there twice, with probes of the command's and of
    // ours.
    assert.equal(callsOf(trace, '_start'), 3);
    assert.equal(callsOf(trace, 'say'), 3);
    const leaves = report(trace).functions.filter(({ name }) => name === 'leaf').map(({ calls }) => calls).sort();
    assert.deepEqual(leaves, [1, 2]);
    assert.deepEqual(report(trace).warnings, []);
});

test('what was rewritten is kept, and taken from there', () => {
    const program = `${RUN_LIFE}${WAYS.compile}\nwasi.start(instance);`;
    const own = join(work, 'own-cache');
    const env = { KPERF_CACHE: own };
    run(program, { env });
    const [kept, ...others] = readdirSync(own);
    assert.deepEqual(others, []);
    // After a checksum.
    const wasm = readFileSync(join(own, kept)).subarray(32);
    const put = (content) =>
        writeFileSync(join(own, kept), Buffer.concat([createHash('sha256').update(content).digest(), content]));
    assert.equal(WebAssembly.Module.customSections(new WebAssembly.Module(wasm), 'kperf.symbols').length, 1);
    // The kept module runs.
    assert.equal(callsOf(run(program, { env }).trace, 'life::is_valid_position'), 16_000);
    put(Buffer.from('a reason'));
    assert.match(run(program, { env }).stderr, /^kperf: wasm-[0-9a-f]{8} runs without probes: a reason\n$/);
    // A kept module that the engine refuses is ignored.
    put(wasm.subarray(0, wasm.length / 2));
    const broken = run(program, { env });
    assert.equal(broken.stdout, '5 steps, 19 live cells\n');
    assert.match(broken.stderr, /^kperf: a module runs without probes: the engine refuses them: CompileError/);
    run(program, { env: { ...env, KPERF_ONLY: 'life::*' } });
    assert.equal(readdirSync(own).length, 2);
    for (const KPERF_CACHE of ['0', 'off']) assert.equal(
        existsSync(join(run(program, { env: { KPERF_CACHE, XDG_CACHE_HOME: join(work, 'xdg') } }).cwd, '..', 'xdg')),
        false,
    );
});

test('the cache makes room only with what is its own', () => {
    const own = join(work, 'shared-folder');
    mkdirSync(own);
    const ours = 'a'.repeat(64);
    for (const name of ['backup.tar', ours]) {
        writeFileSync(join(own, name), 'x');
        // A sparse file.
        truncateSync(join(own, name), 2 ** 30 + 1);
        utimesSync(join(own, name), 1, 1);
    }
    run(`${RUN_LIFE}${WAYS.compile}\nwasi.start(instance);`, { env: { KPERF_CACHE: own } });
    const left = readdirSync(own);
    assert.ok(left.includes('backup.tar') && !left.includes(ours) && left.length === 2, left.join());
});

test('a large module is rewritten while the program goes on', () => {
    const program = `
        import { readFileSync } from 'node:fs';
        const bytes = readFileSync('${join(PACKAGE, 'node_modules/@resvg/resvg-wasm/index_bg.wasm')}');
        let turns = 0;
        const ticking = setInterval(() => turns++, 1);
        const compiled = WebAssembly.compile(bytes);
        // Its later content doesn't matter.
        bytes.fill(0);
        const module = await compiled;
        clearInterval(ticking);
        console.log(turns > 5, WebAssembly.Module.imports(module).some(({ module }) => module.startsWith('kperf')));`;
    const { stdout, stderr, status } = run(program, { env: { KPERF_CACHE: '0' } });
    assert.deepEqual([stdout, stderr, status], ['true false\n', '', 0]);
});

test('what node loads for itself is left alone', () => {
    const { stdout, stderr, traces } = run(`
        import { createServer } from 'node:http';
        const server = createServer((_, answer) => answer.end('answered')).listen(0);
        await new Promise((resolve) => server.on('listening', resolve));
        console.log(await (await fetch('http://localhost:' + server.address().port)).text());
        server.close();`);
    assert.deepEqual([stdout, stderr, traces], ['answered\n', '', []]);
});
