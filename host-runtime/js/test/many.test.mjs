// Programs that make many instances: later ones share a recorder, and every call is recorded.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasMultiMemory, kperf } from './support/cli.mjs';
import { RecentModules } from '../dist/node/recent-modules.js';
import { assembled, report, run } from './support/program.mjs';

assembled('many.wasm', `(module
    (import "host" "call" (func $call (param i32) (result i32)))
    (memory (export "memory") 1) (table (export "table") 1 funcref) (elem (i32.const 0) $leaf)
    (func $leaf (param i32) (result i32) (i32.add (local.get 0) (i32.const 1)))
    (func $inner (param i32) (result i32) (call $call (call_indirect (param i32) (result i32) (local.get 0) (i32.const 0))))
    (func (export "outer") (param i32) (result i32) (call $inner (local.get 0)))
    (func $fails (export "fails") (drop (call $leaf (i32.const 0))) unreachable))`);

const INSTANCES = 300;
const MAKE = `
    import { readFileSync } from 'node:fs';
    import vm from 'node:vm';
    const bytes = readFileSync('WORK/many.wasm');
    const module = new WebAssembly.Module(bytes);
    const { WebAssembly: Other } = vm.runInNewContext('globalThis');
    const ways = {
        constructor: (imports) => new WebAssembly.Instance(module, imports),
        module: (imports) => WebAssembly.instantiate(module, imports),
        bytes: async (imports) => (await WebAssembly.instantiate(bytes, imports)).instance,
        other: (imports) => new Other.Instance(module, imports),
    };
    const make = ways[process.argv[2]];
    let before;
    const call = (n) => {
        if (n % 10 === 2) throw new Error('refused');
        // The instance before, while this one is open.
        return n % 10 === 3 && before ? before.outer(n + 2) : n;
    };
    let sum = 0, failed = 0;
    for (let n = 0; n < ${INSTANCES}; n++) {
        const { exports } = await make({ host: { call } });
        if (Object.keys(exports).join() !== 'memory,table,outer,fails') throw new Error(Object.keys(exports).join());
        try {
            sum += exports.outer(n);
            if (n % 10 === 4) exports.fails();
        } catch {
            failed++;
        }
        before = exports;
    }
    console.log(sum, failed);`;
/** Each tenth of them fails in two ways, and calls another. */
const TENTH = INSTANCES / 10;
const CALLS = { outer: INSTANCES + TENTH, inner: INSTANCES + TENTH, leaf: INSTANCES + 2 * TENTH, fails: TENTH };

const modes = hasMultiMemory ? ['trace', 'profile'] : ['trace'];
for (const record of modes) {
    for (const way of ['constructor', 'module', 'bytes', 'other']) {
        test(`a ${record} has every call of ${INSTANCES} instances (${way})`, () => {
            const plain = run(MAKE, { register: false, args: [way] });
            assert.equal(plain.status, 0, plain.stderr);
            const { stdout, stderr, trace } = run(MAKE, { args: [way], env: { KPERF_RECORD: record } });
            assert.equal(stdout, plain.stdout, stderr);
            const { functions } = report(trace);
            const counts = Object.fromEntries(functions.map(({ name, calls }) => [name, calls]));
            assert.deepEqual(counts, CALLS);
            // A profile lists slow calls only.
            if (record === 'trace') assert.match(kperf('report', trace), new RegExp(`^# calls.*, ${3 * TENTH} host error`, 'm'));
            const lanes = Number(/^lanes +(\d+)/m.exec(kperf('info', trace))?.[1]);
            assert.equal(lanes >= 1 && lanes < 60, true, kperf('info', trace));
        });
    }
}

const POSTED = `
    import { readFileSync } from 'node:fs';
    import { isMainThread, Worker, workerData } from 'node:worker_threads';
    if (isMainThread) {
        const module = new WebAssembly.Module(readFileSync('WORK/many.wasm'));
        new Worker(new URL(import.meta.url), { workerData: module });
    } else {
        for (let n = 0; n < ${INSTANCES}; n++) {
            new WebAssembly.Instance(workerData, { host: { call: (x) => x } }).exports.outer(n);
            if (n % 10 === 0) await 0;
        }
    }`;
for (const record of modes) {
    test(`a ${record} of a thread that got the module from another one`, () => {
        const { stderr, trace } = run(POSTED, { env: { KPERF_RECORD: record } });
        const counts = Object.fromEntries(report(trace).functions.map(({ name, calls }) => [name, calls]));
        assert.deepEqual(counts, { outer: INSTANCES, inner: INSTANCES, leaf: INSTANCES }, stderr);
        // Node 20 has one for each thread.
        const lanes = Number(/^lanes +(\d+)/m.exec(kperf('info', trace))?.[1]);
        assert.equal(lanes < 60, true, kperf('info', trace));
    });
}

test('with KPERF_PROBE=inline each instance keeps its own recorder', { skip: !hasMultiMemory }, () => {
    const { trace } = run(MAKE, { args: ['constructor'], env: { KPERF_PROBE: 'inline' } });
    assert.match(kperf('info', trace), new RegExp(`^lanes +${INSTANCES}$`, 'm'));
});

test('modules that were loaded lately are kept, within bounds', () => {
    const recent = new RecentModules();
    recent.put('none', undefined);
    recent.put('refused', 'why');
    assert.deepEqual([recent.get('none'), recent.get('refused'), recent.get('other')], [{ rewriting: undefined }, { rewriting: 'why' }, undefined]);
    recent.put('large', new Uint8Array(3 << 20));
    assert.equal(recent.get('large'), undefined);
    const module = new Uint8Array(1 << 20);
    for (let n = 0; n < 20; n++) {
        recent.put(`m${n}`, module);
        // Used again and again.
        assert.equal(recent.get('m0').rewriting, module);
    }
    const kept = Array.from({ length: 20 }, (_, n) => recent.get(`m${n}`) && n).filter((n) => n !== undefined);
    assert.deepEqual(kept, [0, 13, 14, 15, 16, 17, 18, 19]);
    for (let n = 0; n < 100; n++) recent.put(`s${n}`, 'why');
    assert.deepEqual([recent.get('s35'), recent.get('m19'), recent.get('s36')], [undefined, undefined, { rewriting: 'why' }]);
});
