// Columns of a block, with both forms of times. JavaScript's are equal to the core's.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as zlib from 'node:zlib';
import { Columns } from '../dist/common/trace/columns.js';
import { CoreColumns } from '../dist/node/core-columns.js';
import { coreModuleSync } from '../dist/node/core.js';

const [TIME, LEAVE, LEAF, UNWIND, WIDE_TIME, SWITCH, MARK] = [
    0x40000000, 0x80000000, 0x80000001, 0xc0000000, 0xe0000000, 0xe4000000, 0xe8000000,
];

/** Makes a block of words. */
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
    return {
        form: payload[1], entries: view.getUint32(20, true), events, ids: [...numbers(columns[0])],
        others: [...columns[1]], times: [...numbers(columns[2])],
    };
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
    assert.deepEqual(
        { ids, others, events }, { ids: [3, 0, 1, 1], others: [3, 0, 0, 0xe8, 255, 255, 255, 255], events: 3 },
    );
});

/** Random words with a percentage of times. */
function randomWords(count, timesInHundred, hasLeaves, state) {
    const random = (below) => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        return Math.floor((state / 2 ** 32) * below);
    };
    const rare = [
        () => [UNWIND + random(2 ** 26)], () => [WIDE_TIME, random(2 ** 32), random(2 ** 10)],
        () => [SWITCH + random(9)], () => [MARK + random(99)], () => [random(2 ** 30)], () => [TIME + random(2 ** 30)],
        () => [LEAF + random(2 ** 30 - 1)],
    ];
    const words = [];
    while (words.length < count) {
        if (random(100) < timesInHundred) words.push(TIME + random(200));
        if (random(200) === 0) words.push(...rare[random(rare.length)]());
        else words.push(hasLeaves && random(2) ? LEAF + random(130) : random(2) ? LEAVE : random(130));
    }
    return words;
}

test('the core makes the same columns, to the byte', () => {
    const core = new CoreColumns(coreModuleSync());
    const columns = new Columns();
    let events = 0;
    for (let n = 0; n < 400; n++) {
        const words = randomWords((n * n) >> 2, [0, 1, 50, 100][n % 4], n % 3 === 0, n);
        // A wide time may be cut off.
        const one = block(words.slice(0, words.length - (n % 5)));
        const made = columns.encode(one);
        const expected = core.encode(one);
        assert.equal(Buffer.compare(made.payload, expected.payload), 0, `block ${n}`);
        assert.equal(made.events, expected.events);
        events += made.events;
    }
    assert.equal(events > 1_000_000, true);
});

test('packed columns unpack to the same, and what would not be shorter stays', { skip: !zlib.zstdCompressSync }, () => {
    const module = coreModuleSync();
    const [plain, packed] = [new CoreColumns(module), new CoreColumns(module, (bytes) => zlib.zstdCompressSync(bytes))];
    const one = block(randomWords(9000, 50, true, 7));
    const [{ payload }, { payload: short }] = [plain.encode(one), packed.encode(one)];
    assert.deepEqual([payload[2], short[2]], [0, 0b101]);
    const view = new DataView(short.buffer, short.byteOffset);
    const columns = [];
    for (let n = 0, at = 48; n < 3; n++) {
        const stored = view.getUint32(28 + 8 * n, true);
        const column = short.subarray(at, (at += stored));
        columns.push((short[2] >> n) & 1 ? zlib.zstdDecompressSync(column) : column);
    }
    assert.equal(Buffer.compare(Buffer.concat(columns), payload.subarray(48)), 0);
});

test('what is no block is an error that says so', () => {
    assert.throws(
        () => new CoreColumns(coreModuleSync()).encode(new Uint8Array(18)), /18 bytes doesn't end with a whole word/,
    );
});
