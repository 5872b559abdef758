// A trace gets an anchor to the calendar each minute.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { TraceWriter } from '../dist/common/trace/trace-writer.js';
import { chunksOf, MemorySink } from './support/memory-sink.mjs';

const now = performance.now;
let passed = 0;
performance.now = () => now.call(performance) + passed;
after(() => (performance.now = now));

const header = {
    clock: { kind: 'precise', source: 'performance.now', ticks_per_second: 1e9, resolution_nanos: 1 },
    anchor: { ticks: '5', unix_nanos: '6' }, host: {}, command: [],
};

/** A block with one leave. */
const block = () => {
    const bytes = new Uint8Array(20);
    new DataView(bytes.buffer).setUint32(16, 0x80000000, true);
    return bytes;
};

/** The kinds of a trace's chunks behind the header, and the anchors. */
function written(anchor) {
    const sink = new MemorySink();
    const writer = new TraceWriter(sink, header, { anchor });
    for (const millis of [0, 59_000, 2_000, 500, 61_000]) {
        passed += millis;
        writer.block(0, block());
    }
    const chunks = chunksOf(sink.bytes()).slice(1);
    const anchors = chunks.filter(({ kind }) => kind === 'ANCH').map(({ payload }) => {
        const view = new DataView(payload.buffer, payload.byteOffset, payload.length);
        assert.equal(payload.length, 16);
        return [view.getBigUint64(0, true), view.getBigUint64(8, true)];
    });
    return { kinds: chunks.map(({ kind }) => kind), anchors };
}

test('an anchor a minute', () => {
    let asked = 0;
    const { kinds, anchors } = written(() => ({ ticks: `${++asked}000`, unix_nanos: '1700000000000000001' }));
    assert.deepEqual(kinds, ['EVTS', 'EVTS', 'ANCH', 'EVTS', 'EVTS', 'ANCH', 'EVTS']);
    assert.deepEqual(anchors, [[1000n, 1700000000000000001n], [2000n, 1700000000000000001n]]);
});

test('none under the clock for tests', () => {
    assert.deepEqual(written(undefined).kinds, ['EVTS', 'EVTS', 'EVTS', 'EVTS', 'EVTS']);
});
