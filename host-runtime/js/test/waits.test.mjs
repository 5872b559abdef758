// A thread's waits are nobody's self time: `memory.atomic.wait32`, in a worker.
import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { hasMultiMemory } from './support/cli.mjs';
import { assembled, report, run, work } from './support/program.mjs';

// Nobody wakes it: it waits for the time in milliseconds.
assembled('lock.wasm', `(module
    (import "env" "memory" (memory 1 1 shared))
    (func $lock (export "lock") (param $ms i32) (result i32)
        (memory.atomic.wait32 offset=64 (i32.const 0) (i32.const 0) (i64.mul (i64.extend_i32_u (local.get $ms)) (i64.const 1000000)))))`);
const cwd = mkdtempSync(join(work, 'run-'));
const MS = 400;

for (const env of [
    { KPERF_RECORD: 'trace', KPERF_PROBE: 'import' }, { KPERF_RECORD: 'trace' }, { KPERF_CLOCK: 'precise' },
    ...(hasMultiMemory ? [{ KPERF_RECORD: 'profile' }, { KPERF_RECORD: 'profile', KPERF_SPAN_MIN: 'off' }] : []),
]) {
    const name = Object.values(env).join(' ');
    test(`a worker's wait is no self time: ${name}`, () => {
        const { status, stderr } = run(`
            import { readFileSync } from 'node:fs';
            import { isMainThread, Worker } from 'node:worker_threads';
            if (isMainThread) new Worker(new URL(import.meta.url));
            else {
                const memory = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });
                const module = new WebAssembly.Module(readFileSync('WORK/lock.wasm'));
                const { lock } = new WebAssembly.Instance(module, { env: { memory } }).exports;
                if (lock(${MS}) !== 2) throw new Error('it was woken');
            }`, { cwd, env: { KPERF_TRACE: 'app.kperf', ...env } });
        assert.equal(status, 0, stderr);
        const { functions, own_wait_nanos: waited, self_nanos: self } = report(join(cwd, 'app.kperf'));
        assert.deepEqual(functions.map(({ name, calls }) => [name, calls]), [['lock', 1]]);
        // A profile's sampler may be late on a busy machine.
        assert.equal(waited > MS * 0.5e6 && self < MS * 0.5e6, true, `waited ${waited} ns, self time ${self} ns`);
        assert.equal(functions[0].total_nanos >= waited, true);
    });
}
