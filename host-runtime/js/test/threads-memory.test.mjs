// Allocations of threads in a shared memory: each frees the other's block and gets its address.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import wabt from 'wabt';
import { CLI, folder, hasMultiMemory, PACKAGE } from './support/cli.mjs';

const work = folder();
const REGISTER = pathToFileURL(join(PACKAGE, 'dist/node/register.js')).href;
const ROUNDS = 20_000;
const { parseWat } = await wabt();
// Each block has a flag; the first free one is allocated.
const PROGRAM = `(module
    (import "env" "memory" (memory 1 1 shared))
    (func $malloc (export "malloc") (param $size i32) (result i32) (local $at i32)
        (loop $next
            (local.set $at (i32.add (local.get $at) (i32.const 4)))
            (br_if $next (i32.atomic.rmw.cmpxchg (local.get $at) (i32.const 0) (i32.const 1))))
        (i32.shl (local.get $at) (i32.const 6)))
    (func $free (export "free") (param $block i32)
        (i32.atomic.store (i32.shr_u (local.get $block) (i32.const 6)) (i32.const 0)))
    (func $one (export "one") (param $other i32) (result i32)
        (if (local.get $other) (then (call $free (local.get $other))))
        (call $malloc (i32.const 100)))
    (func $two (export "two") (param $other i32) (result i32)
        (call $free (local.get $other))
        (call $malloc (i32.const 10))))`;
writeFileSync(
    join(work, 'blocks.wasm'),
    parseWat('blocks.wat', PROGRAM, { threads: true }).toBinary({ write_debug_names: true }).buffer,
);
// Another module has its own memory, with a block at the same address.
const OWN = `(module (memory 1)
    (func $malloc (export "malloc") (param i32) (result i32) (i32.const 256))
    (func $free (export "free") (param i32))
    (func $own (export "own") (call $free (call $malloc (i32.const 7)))))`;
writeFileSync(join(work, 'own.wasm'), parseWat('own.wat', OWN).toBinary({ write_debug_names: true }).buffer);
writeFileSync(join(work, 'app.mjs'), `
    import { readFileSync } from 'node:fs';
    import { Worker, isMainThread, workerData } from 'node:worker_threads';
    const memory = workerData ?? new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });
    const { exports: blocks } = new WebAssembly.Instance(new WebAssembly.Module(readFileSync('blocks.wasm')),
        { env: { memory } });
    const { exports: own } = new WebAssembly.Instance(new WebAssembly.Module(readFileSync('own.wasm')));
    const turn = new Int32Array(memory.buffer, 65528, 2);
    if (isMainThread) new Worker(new URL(import.meta.url), { workerData: memory });
    for (let round = 0; round < ${ROUNDS}; round++) {
        const mine = isMainThread ? 2 * round : 2 * round + 1;
        for (let now; (now = Atomics.load(turn, 0)) !== mine;) Atomics.wait(turn, 0, now);
        turn[1] = isMainThread ? blocks.one(turn[1]) : blocks.two(turn[1]);
        if (isMainThread) own.own();
        Atomics.store(turn, 0, mine + 1);
        Atomics.notify(turn, 0);
    }`);

function record(env) {
    const trace = join(work, `${Object.values(env).join('-')}.kperf`);
    const { status, stderr } = spawnSync(process.execPath, ['--no-warnings', '--import', REGISTER, 'app.mjs'], {
        cwd: work, encoding: 'utf8', env: {
            ...process.env, KPERF_CACHE: join(work, 'cache'), KPERF_TRACE: trace, KPERF_ALLOCATIONS: 'all', ...env,
        },
    });
    assert.equal(status === 0 && existsSync(trace), true, stderr);
    return trace;
}

for (const clock of ['precise', 'ticker']) {
    for (const probe of hasMultiMemory ? ['import', 'inline'] : ['import']) {
        test(`each frees what the other was given: ${clock}, ${probe}`, () => {
            const trace = record({ KPERF_CLOCK: clock, KPERF_PROBE: probe });
            const { status, stdout, stderr } = spawnSync(
                CLI, ['report', trace, '--by', 'allocations', '--sort', 'name', '--format', 'json'],
                { encoding: 'utf8' },
            );
            assert.equal(status === 0 && !/\d+ (blocks|records)/.test(stderr), true, stderr);
            const rows = JSON.parse(stdout).map((row) =>
                [row.name, row.allocated_bytes, row.allocations, row.freed_bytes, row.peak_bytes, row.live_bytes]);
            const expected = [['one', 100, 100, 0], ['own', 7, 7, 0], ['two', 10, 0, 10]];
            assert.deepEqual(rows, expected.map(
                ([name, size, peak, live]) => [name, ROUNDS * size, ROUNDS, ROUNDS * size - live, peak, live],
            ));
        });
    }
}
