// Time in imported functions is their own, and waiting is nobody's self time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasMultiMemory } from './support/cli.mjs';
import { assembled, report, run } from './support/program.mjs';

assembled('host.wasm', `(module (import "host" "wait" (func $wait (param i32) (result i32)))
    (func $inner (param i32) (result i32) (call $wait (local.get 0)))
    (func (export "outer") (param i32) (result i32) (i32.add (call $inner (local.get 0)) (i32.const 1))))`);
const WAITS = `
    import { readFileSync } from 'node:fs';
    const wait = (x) => {
        const begin = performance.now();
        while (performance.now() - begin < 5);
        return x;
    };
    const { instance } = await WebAssembly.instantiate(readFileSync('WORK/host.wasm'), { host: { wait } });
    let sum = 0;
    for (let n = 0; n < 40; n++) sum += instance.exports.outer(n);
    console.log(sum);`;
const names = ({ functions }) => functions.map(({ name }) => name).sort();

for (const record of hasMultiMemory ? ['trace', 'profile'] : ['trace']) {
    test(`a ${record} has an import's time by its name`, () => {
        const { stdout, stderr, trace } = run(WAITS, { env: { KPERF_RECORD: record, KPERF_IMPORTS: undefined } });
        assert.equal(stdout, '820\n', stderr);
        const found = report(trace);
        assert.deepEqual(names(found), ['host.wait', 'inner', 'outer']);
        const wait = found.functions.find(({ name }) => name === 'host.wait');
        assert.deepEqual([wait.calls, wait.share > 0.6], [40, true], JSON.stringify(found.functions));
    });
}

test('imports have no calls if the user says so, or chose few functions', () => {
    for (const env of [{ KPERF_IMPORTS: '0' }, { KPERF_EXPORTS: '1' }, { KPERF_MIN_INSTRUCTIONS: '1' }, { KPERF_CLOCK: 'instructions' }]) {
        const { trace } = run(WAITS, { env: { KPERF_IMPORTS: undefined, ...env } });
        assert.equal(names(report(trace)).includes('host.wait'), false, JSON.stringify(env));
    }
});

assembled('suspended.wasm', `(module (import "host" "sleep" (func $sleep (param i32) (result i32)))
    (func $inner (param i32) (result i32) (call $sleep (local.get 0)))
    (func (export "outer") (param i32) (result i32) (call $inner (local.get 0))))`);
const SLEEPS = `
    import { readFileSync } from 'node:fs';
    const sleep = async (x) => {
        await new Promise((done) => setTimeout(done, 20));
        return x;
    };
    const host = { sleep: new WebAssembly.Suspending(sleep) };
    const { instance } = await WebAssembly.instantiate(readFileSync('WORK/suspended.wasm'), { host });
    const outer = WebAssembly.promising(instance.exports.outer);
    const all = await Promise.all(Array.from({ length: 40 }, (_, n) => outer(n)));
    console.log(all.reduce((sum, n) => sum + n));`;
const cannotSuspend = !('Suspending' in WebAssembly) && 'this node cannot suspend guests';

for (const probe of ['inline', 'import']) {
    for (const imports of ['0', '1']) {
        test(`what a suspended stack waits is no self time (${probe}, imports ${imports})`, { skip: cannotSuspend }, () => {
            const env = { KPERF_PROBE: probe, KPERF_IMPORTS: imports, KPERF_CLOCK: 'precise' };
            const { stdout, stderr, trace } = run(SLEEPS, { env });
            assert.equal(stdout, '780\n', stderr);
            const { functions, wall_nanos: wall } = report(trace);
            const outer = functions.find(({ name }) => name === 'outer');
            const self = functions.filter(({ name }) => !name.startsWith('[')).map((row) => row.self_nanos);
            // 40 times 20 ms at the same time.
            assert.deepEqual([outer.calls, outer.total_nanos >= 40 * 19e6], [40, true], JSON.stringify(functions));
            const sum = self.reduce((sum, nanos) => sum + nanos);
            assert.equal(sum < wall, true, JSON.stringify({ sum, wall, functions }));
        });
    }
}
