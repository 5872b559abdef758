// Instructions and allocators by the environment, in programs with several modules and threads.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { kperf, PACKAGE } from './support/cli.mjs';
import { assembled, report, run as runProgram, work } from './support/program.mjs';

for (const [name, text] of Object.entries({
    count: '(module (func $count (export "count") (result i32) (i32.add (i32.const 1) (i32.const 2))))',
    pool: `(module (memory (export "memory") 1) (global $at (mut i32) (i32.const 16))
        (func $take (export "take") (param i32) (result i32)
            (global.set $at (i32.add (global.get $at) (local.get 0))) (i32.sub (global.get $at) (local.get 0))))`,
})) assembled(`${name}.wasm`, text);

const cwd = mkdtempSync(join(work, 'run-'));

/** Runs a program, and returns its output. */
function run(program, env) {
    const { status, stdout, stderr } = runProgram(`
        import { readFileSync } from 'node:fs';
        import { isMainThread, Worker } from 'node:worker_threads';
        const load = (name) => new WebAssembly.Instance(new WebAssembly.Module(readFileSync('WORK/' + name + '.wasm'))).exports;
        const worker = () => new Promise((resolve) => new Worker(new URL(import.meta.url)).on('exit', resolve));
        ${program}`, { cwd, env: { KPERF_TRACE: 'app.kperf', ...env } });
    return { status, stdout, stderr };
}
const functions = (trace = 'app.kperf') => report(join(cwd, trace)).functions;
const counted = () => functions().map((f) => [f.name, f.calls, f.self_instructions]);

test('instructions are counted, whichever form the probes have', () => {
    for (const env of [{}, { KPERF_PROBE: 'import' }]) {
        const { status, stderr } = run(`load('count').count();`, { KPERF_CLOCK: 'instructions', ...env });
        assert.equal(status, 0, stderr);
        assert.deepEqual(counted(), [['count', 1, 3]]);
    }
});

test('settings that make no sense end the process before it does anything', () => {
    for (const [env, said] of [
        ...['QUIET', 'CALIBRATE', 'IMPORTS', 'EXPORTS']
            .map((name) => [{ [`KPERF_${name}`]: 'maybe' }, `KPERF_${name} is \`maybe\`: use 1 or 0`]),
        [{ KPERF_INLINING: '0' }, "KPERF_INLINING was removed: KPERF_PROBE=import keeps V8's limits of inlining"],
        [
            { KPERF_WEIGHTS: 'fuel' },
            'KPERF_WEIGHTS was removed: KPERF_CLOCK=instructions counts each instruction as one',
        ],
        [
            { KPERF_DATASET: 'fleet' },
            'KPERF_DATASET was removed: `kperf-wasm collect` of the Rust command takes the traces that node writes',
        ],
        [{ KPERF_ALLOCATOR: 'malloc=take' }, 'KPERF_ALLOCATOR names allocator functions: set KPERF_ALLOCATIONS, too'],
        [
            { KPERF_ALLOCATIONS: 'all', KPERF_ALLOCATOR: 'take' },
            'KPERF_ALLOCATOR has `take`, which is not `malloc=FUNCTION`',
        ],
        [
            { KPERF_ALLOCATIONS: 'all', KPERF_ALLOCATOR: 'pool=take' },
            'KPERF_ALLOCATOR: the allocator `take`: `pool` is not an allocator role; roles are malloc, calloc, realloc, reallocarray, free, aligned_alloc, posix_memalign, alloc, rust_realloc',
        ],
    ]) {
        assert.deepEqual(run(`console.log('it runs');`, env), { status: 1, stdout: '', stderr: `kperf: ${said}\n` });
    }
});

test('an allocator is in one of the modules, and all are recorded', () => {
    const program = `load('count').count(); load('pool').take(8);`;
    const env = { KPERF_ALLOCATIONS: 'all', KPERF_ALLOCATOR: 'malloc=take', KPERF_CLOCK: 'precise' };
    // The second time from the cache.
    for (let n = 0; n < 2; n++) {
        const { status, stderr } = run(program, env);
        assert.equal(status, 0, stderr);
        assert.match(stderr, /^kperf: \d+ events of 2 functions: kperf-wasm report app.kperf\n$/);
        assert.deepEqual(functions().map(({ name }) => name).sort(), ['count', 'take']);
        assert.match(kperf('report', join(cwd, 'app.kperf'), '--by', 'allocations'), /allocated 8 bytes in 1 block;/);
    }
    // A missing function is reported once, at the end.
    const missing = run(program, { ...env, KPERF_ALLOCATOR: 'malloc=take,free=give' });
    assert.match(
        missing.stderr,
        /^kperf: KPERF_ALLOCATOR: no module has the function of `free=give`\nkperf: \d+ events of 2 functions: [^\n]*\n$/,
    );
    // A thread's module counts, too.
    const thread = run(`if (!isMainThread) load('pool').take(8); else { load('count').count(); await worker(); }`, env);
    assert.match(thread.stderr, /^kperf: \d+ events of 2 functions: [^\n]*\n$/);
    // A function of another type is reported; its module is still recorded.
    const wrong = run(program, { ...env, KPERF_ALLOCATOR: 'calloc=take' });
    assert.match(
        wrong.stderr,
        /^kperf: wasm-[0-9a-f]{8}: KPERF_ALLOCATOR: `calloc=take` is no allocator here: its parameters and results are not those of a `calloc`\n/,
    );
    assert.match(
        wrong.stderr,
        /\nkperf: KPERF_ALLOCATOR: no module has the function of `calloc=take`\nkperf: \d+ events of 2 functions: /,
    );
});

test('the package\'s own report tells instructions as such', () => {
    assert.equal(run(`load('count').count();`, { KPERF_CLOCK: 'instructions' }).status, 0);
    const { stdout } = spawnSync(
        process.execPath, [join(PACKAGE, 'dist/node/cli/main.js'), 'report', 'app.kperf'], { cwd, encoding: 'utf8' },
    );
    assert.match(stdout, /^# clock: instructions that were executed: [^\n]+\n# host: [^\n]+\n# count: 3 instr, completed\n/);
    assert.match(stdout, /^ 100\.0  3 instr  3 instr +1 .* count +\[host\]$/m);
});
