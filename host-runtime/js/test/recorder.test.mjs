// The recorder by hand, under the test clock: the trace, call by call.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { createRecorder } from 'kperf-wasm';
import { folder, probed, replay } from './support/cli.mjs';
import { chunksOf, MemorySink } from './support/memory-sink.mjs';

const work = folder();
const bytes = probed('test/programs/calls.wat', join(work, 'calls.wasm'));
const module = new WebAssembly.Module(bytes);
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A guest whose host function is `call`: its exports and its calls so far. */
function guest(call) {
    const sink = new MemorySink();
    const kperf = createRecorder({ sink, clock: 'test' });
    const { exports } = kperf.attach(new WebAssembly.Instance(module, kperf.imports({ host: { call } }, module)));
    const finish = (outcome, ...options) => {
        const summary = kperf.finishSync(outcome);
        const trace = sink.save(join(work, 'trace.kperf'));
        const lines = replay(trace, ...options).split('\n').slice(1, -1);
        return { summary, calls: lines.map((line) => line.replace(/^.*\| /, '').trimEnd()) };
    };
    return { kperf, exports, finish };
}

test('calls, and their times', () => {
    const { kperf, exports, finish } = guest(() => {});
    exports.outer(1);
    kperf.mark(7);
    const { summary, calls } = finish();
    assert.deepEqual(calls, ['outer() {', '  inner();', '  leaf();', '} /* outer */', '/* mark 7, at 7.000 us */']);
    assert.deepEqual(
        { ...summary, ticker_stalls: 0, writer_stalls: 0 },
        {
            outcome: 'completed', end_ticks: 9000, events: 7, blocks: 1, dropped_events: 0, recorders: 1, probes: 5,
            ticker_stalls: 0, writer_stalls: 0,
        },
    );
});

test('a frame that an exception carried out never becomes the parent of a later call', async () => {
    const { exports, finish } = guest(() => {
        throw new Error('out');
    });
    assert.throws(() => exports.outer(1), /out/);
    await undefined;
    exports.leaf();
    assert.deepEqual(
        finish().calls, ['outer() {', '  inner(); /* host error */', '} /* outer: host error */', 'leaf();'],
    );
});

test('nor does it in a later turn, after a trap', async () => {
    const { exports, finish } = guest(() => {});
    setImmediate(() => assert.throws(() => exports.crash(), WebAssembly.RuntimeError));
    await turn();
    await turn();
    exports.leaf();
    assert.deepEqual(finish().calls, ['crash() {', '  leaf();', '} /* crash: host error */', 'leaf();']);
});

test('through call() it is closed at once, with the reason', () => {
    const { kperf, exports, finish } = guest(() => {});
    assert.throws(() => kperf.call(() => exports.crash()), WebAssembly.RuntimeError);
    exports.leaf();
    assert.deepEqual(finish().calls, ['crash() {', '  leaf();', '} /* crash: trap */', 'leaf();']);
});

test('a host function that calls back and catches leaves the outer frames open', () => {
    let exports;
    const guests = guest((depth) => {
        if (depth === 1) {
            assert.throws(() => exports.outer(0), /deep/);
            exports.leaf();
        } else {
            throw new Error('deep');
        }
    });
    exports = guests.exports;
    exports.outer(1);
    // The recorder notices a caught exception only when the import has returned.
    assert.deepEqual(guests.finish().calls, [
        'outer() {', '  inner() {', '    outer() {', '      inner() {', '        leaf();',
        '      } /* inner: unwound */', '    } /* outer: unwound */', '  } /* inner */', '  leaf();', '} /* outer */',
    ]);
});

test('many turns make few blocks', async () => {
    const { exports, finish } = guest(() => {});
    for (let n = 0; n < 300; n++) {
        exports.leaf();
        await turn();
    }
    const { summary, calls } = finish();
    assert.equal(calls.length, 300);
    assert.deepEqual([summary.events, summary.blocks], [600, 1]);
});

test('blocks follow each other without a gap', async () => {
    const { exports, finish } = guest(() => {});
    exports.descend(9_000);
    await turn();
    exports.descend(100);
    await turn();
    for (let n = 0; n < 9; n++) exports.descend(5_000);
    const { summary, calls } = finish('completed', '--depth', '1');
    assert.equal(summary.events, 2 * (9_001 + 101 + 9 * 5_001));
    assert.equal(summary.blocks > 6, true);
    assert.deepEqual(calls, Array(11).fill('descend();'));
});

test('what is open at the end is closed', () => {
    let summary;
    const guests = guest(() => (summary = guests.finish('stopped')));
    guests.exports.outer(1);
    assert.deepEqual(summary.calls, ['outer() {', '  inner(); /* unfinished */', '} /* outer: unfinished */']);
    assert.equal(summary.summary.outcome, 'stopped');
});

test('spans of JavaScript stand among the guest\'s calls', async () => {
    const { kperf, exports, finish } = guest(() => {});
    const value = kperf.span('decode', () => {
        exports.leaf();
        return 5;
    });
    assert.equal(value, 5);
    assert.throws(() => kperf.span('decode', () => {
        throw new Error('no');
    }), /no/);
    const waited = kperf.span('fetch', async () => {
        await turn();
        return 6;
    });
    exports.leaf();
    assert.equal(await waited, 6);
    kperf.mark('ready');
    assert.deepEqual(finish().calls, [
        'decode() {', '  leaf();', '} /* decode */', 'decode();', 'fetch();', 'leaf();', 'fetch (await);', 'ready();',
    ]);
});

test('modules with the same ids are refused, the same module twice is not', () => {
    const kperf = createRecorder({ sink: new MemorySink(), clock: 'test' });
    const other = new WebAssembly.Module(probed('test/programs/calls.wat', join(work, 'other.wasm'), '--skip', 'leaf'));
    kperf.imports({}, module);
    kperf.imports({}, module);
    assert.throws(
        () => kperf.imports({}, other),
        /two modules have the ids 0 to 3; rewrite them together, or one with ids from 5/,
    );
});

test('a module without probes gets what it would have got', () => {
    const kperf = createRecorder({ sink: new MemorySink(), clock: 'test' });
    const imports = {};
    assert.equal(kperf.imports(imports, new WebAssembly.Module(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0))), imports);
});

test('a sink that fails costs events, and they are counted', () => {
    let chunks = 0;
    const sink = new MemorySink();
    const chunk = (bytes) => {
        if (++chunks === 5) throw new Error('disk full');
        sink.chunk(bytes);
    };
    const kperf = createRecorder({ sink: { chunk, close() {} }, clock: 'test' });
    const { exports } = kperf.attach(new WebAssembly.Instance(module, kperf.imports({ host: { call() {} } }, module)));
    for (let n = 0; n < 6; n++) exports.descend(9_000);
    assert.throws(() => kperf.finishSync(), /15\d+ events are not in the trace: disk full/);
    assert.match(replay(sink.save(join(work, 'lost.kperf')), '--depth', '1'), /15\d+ events lost/);
});


test('a sink has what was recorded within some seconds, once', async () => {
    const sink = new MemorySink();
    const kperf = createRecorder({ sink, clock: 'precise' });
    const { exports } = kperf.attach(new WebAssembly.Instance(module, kperf.imports({ host: { call() {} } }, module)));
    exports.outer(1);
    const blocks = () => chunksOf(sink.bytes()).filter(({ kind }) => kind === 'EVTS').length;
    for (let n = 0; blocks() === 0 && n < 200; n++) await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(blocks(), 1);
    exports.leaf();
    kperf.finishSync();
    const calls = replay(sink.save(join(work, 'flushed.kperf')));
    assert.deepEqual(calls.match(/\w+\(\)/g), ['outer()', 'inner()', 'leaf()', 'leaf()']);
});
