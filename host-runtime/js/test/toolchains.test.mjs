// Output of compilers with their own JavaScript: the rewritten modules work as before.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { folder, kperf, PACKAGE, probed } from './support/cli.mjs';

const work = folder();
const REGISTER = pathToFileURL(join(PACKAGE, 'dist/node/register.js')).href;
const modules = join(PACKAGE, 'node_modules');
const major = Number(process.versions.node.split('.')[0]);

/**
 * Runs a program with its module as it is, then with probes. `files` are copied into its folder: name to path. Answers its
 * text, which is the same both times, and the calls of each function.
 */
function compare(name, files, wasm, program, args = []) {
    const cwd = join(work, name);
    mkdirSync(cwd);
    for (const [to, from] of Object.entries(files)) {
        mkdirSync(dirname(join(cwd, to)), { recursive: true });
        copyFileSync(from, join(cwd, to));
    }
    if (program) writeFileSync(join(cwd, 'program.mjs'), program);
    const file = program ? 'program.mjs' : args.shift();
    const run = (...options) => {
        const env = { ...process.env, KPERF_TRACE: join(cwd, 'trace.kperf') };
        const { status, stdout, stderr } =
            spawnSync(process.execPath, ['--no-warnings', ...options, file, ...args], { cwd, env, encoding: 'utf8' });
        assert.equal(status, 0, stdout + stderr);
        return stdout;
    };
    const plain = run();
    probed(join(cwd, wasm), join(cwd, 'probed.wasm'));
    copyFileSync(join(cwd, 'probed.wasm'), join(cwd, wasm));
    assert.equal(run('--import', REGISTER), plain);
    const report = JSON.parse(kperf('report', join(cwd, 'trace.kperf'), '--format', 'json', '--limit', '0'));
    assert.equal(report.outcome, 'completed');
    const calls = (pattern) =>
        report.functions.filter((f) => pattern.test(f.name)).reduce((sum, f) => sum + f.calls, 0);
    const open = report.functions.filter((f) => f.unfinished > 0).map((f) => f.name);
    return { text: plain, calls, open, report };
}

test('wasm-bindgen: resvg', () => {
    const { text, calls, open } = compare('wasm-bindgen', {
        'resvg.mjs': join(modules, '@resvg/resvg-wasm/index.mjs'),
        'index_bg.wasm': join(modules, '@resvg/resvg-wasm/index_bg.wasm'),
    }, 'index_bg.wasm', `
        import { readFileSync } from 'node:fs';
        import { initWasm, Resvg } from './resvg.mjs';
        await initWasm(readFileSync('index_bg.wasm'));
        const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64"><circle cx="32" cy="32" r="30" fill="red"/></svg>';
        const png = new Resvg(svg).render().asPng();
        console.log(png.length, Buffer.from(png).toString('base64').slice(0, 40));
        try { new Resvg('no picture'); } catch (error) { console.log(String(error)); }`);
    assert.match(text, /^\d+ iVBOR.*\n.*\n$/);
    assert.equal(calls(/./) > 1000, true);
    assert.deepEqual(open, []);
});

test('Emscripten: SQLite', () => {
    const { text, calls, open } = compare('emscripten', {
        'sql-wasm.cjs': join(modules, 'sql.js/dist/sql-wasm.js'),
        'sql-wasm.wasm': join(modules, 'sql.js/dist/sql-wasm.wasm'),
    }, 'sql-wasm.wasm', `
        import sql from './sql-wasm.cjs';
        const { Database } = await sql();
        const db = new Database();
        db.create_function('thrice', (n) => 3 * n);
        db.run('create table t (n); insert into t values (1), (2), (3)');
        console.log(JSON.stringify(db.exec('select thrice(n) from t order by n desc')));
        try { db.run('nonsense'); } catch (error) { console.log(String(error)); }
        db.close();`);
    assert.match(text, /\[\[9\],\[6\],\[3\]\].*\n.*syntax error\n$/);
    assert.equal(calls(/./) > 10_000, true);
    assert.deepEqual(open, []);
});

test('Kotlin/Wasm', { skip: major < 22 && 'this node has no exnref' }, () => {
    const from = (name) => join(PACKAGE, 'test/toolchains/kotlin', name);
    const files = Object.fromEntries(
        ['main.mjs', 'main.import-object.mjs', 'main.js-builtins.mjs', 'main.wasm'].map((name) => [name, from(name)]),
    );
    const { text, calls, open } = compare('kotlin', files, 'main.wasm', `
        import { run } from './main.mjs';
        console.log(run(10));`);
    assert.equal(text, 'kotlin: 1220\n110\n');
    assert.equal(calls(/(^|\.)fib$/), 1973 + 177);
    assert.equal(calls(/(^|\.)caught$/), 2);
    assert.deepEqual(open, []);
});

test('AssemblyScript', () => {
    const built = join(work, 'assemblyscript-built');
    execFileSync(process.execPath, [
        join(modules, 'assemblyscript/bin/asc.js'), join(PACKAGE, 'test/toolchains/assemblyscript/main.ts'),
        '--outFile', join(built, 'main.wasm'), '--bindings', 'esm', '--debug',
    ]);
    const files = { 'main.mjs': join(built, 'main.js'), 'main.wasm': join(built, 'main.wasm') };
    const { text, calls, open } = compare('assemblyscript', files, 'main.wasm', `
        globalThis.twice = (n) => 2 * n;
        const { run } = await import('./main.mjs');
        console.log(run(15));`);
    assert.equal(text, 'assemblyscript: 1220\n');
    assert.equal(calls(/\/fib$/), 1973);
    assert.deepEqual(open, []);
});

const go = spawnSync('go', ['env', 'GOROOT'], { encoding: 'utf8' });
test('Go', { skip: go.status !== 0 && 'there is no Go' }, () => {
    const wasm = join(work, 'go.wasm');
    execFileSync(
        'go', ['build', '-o', wasm, '.'],
        { cwd: join(PACKAGE, 'test/toolchains/go'), env: { ...process.env, GOOS: 'js', GOARCH: 'wasm' } },
    );
    const lib = join(go.stdout.trim(), 'lib/wasm');
    const files = {
        'main.wasm': wasm, 'wasm_exec_node.js': join(lib, 'wasm_exec_node.js'),
        'wasm_exec.js': join(lib, 'wasm_exec.js'),
    };
    const { text, calls } = compare('go', files, 'main.wasm', undefined, ['wasm_exec_node.js', 'main.wasm']);
    assert.equal(text, 'go: 55 610\n');
    // A function that the scheduler suspends is entered again: never fewer calls.
    assert.equal(calls(/^main\.fib$/) >= 1973 + 177, true, `${calls(/^main\.fib$/)}`);
});
