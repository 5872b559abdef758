// Time in imported functions is their own, and waiting is nobody's self time.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { hasMultiMemory, PACKAGE } from './support/cli.mjs';
import { assembled, report, run, work } from './support/program.mjs';

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
