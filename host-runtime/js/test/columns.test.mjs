// Columns made in JavaScript hold the events of the block's words: leaves too, with both forms of times.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Columns } from '../dist/common/columns.js';

const [TIME, LEAVE, LEAF, MARK] = [0x40000000, 0x80000000, 0x80000001, 0xe8000000];

/** A block of these words. */
function block(words) {
    const bytes = new Uint8Array(16 + 4 * words.length);
    new Uint32Array(bytes.buffer, 16).set(words);
    return bytes;
}

/** LEB128 numbers. */
function* numbers(bytes) {
    for (let at = 0; at < bytes.length; ) {
        let value = 0;
        for (let scale = 1; ; scale *= 128) {
            const byte = bytes[at++];
            value += (byte & 127) * scale;
            if (byte < 128) break;
        }
        yield value;
    }
}

function columnsOf(words) {
    const { payload, events } = new Columns().encode(block(words));
    const view = new DataView(payload.buffer, payload.byteOffset);
    const columns = [];
    for (let n = 0, at = 48; n < 3; n++) {
        const length = view.getUint32(24 + 8 * n, true);
        columns.push(payload.subarray(at, at + length));
        at += length;
    }
    return { form: payload[1], entries: view.getUint32(20, true), events, ids: [...numbers(columns[0])], others: [...columns[1]], times: [...numbers(columns[2])] };
}

test('a leaf is an enter and a leave at once', () => {
    const largest = 2 ** 30 - 2;
    const sparse = columnsOf([5, LEAF, LEAF + 200, TIME + 9, LEAF + largest, LEAVE, 3, 3, 3, LEAF + 124, LEAF + 125]);
    assert.deepEqual(sparse, {
        form: 1, entries: 15, events: 15, others: [], times: [5, 9],
        ids: [7, 2, 0, 202, 0, largest + 2, 0, 0, 5, 5, 5, 126, 0, 127, 0],
    });
    const dense = columnsOf([TIME + 1, 5, TIME + 300, LEAF + 7, TIME + 2, LEAVE]);
    assert.deepEqual(dense, { form: 0, entries: 4, events: 4, others: [], times: [1, 300, 0, 2], ids: [7, 9, 0, 0] });
});

test('words of other kinds stay as they are', () => {
    const { ids, others, events } = columnsOf([LEAF + 1, MARK + 3, 0xffffffff]);
    assert.deepEqual({ ids, others, events }, { ids: [3, 0, 1, 1], others: [3, 0, 0, 0xe8, 255, 255, 255, 255], events: 3 });
});
