// A running lane, written in pieces: equal to its block in the end, also if a written enter has become a leaf.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BLOCK_HEADER, END_MARK, LEAVE, START, SWITCH, TIME, WIDE_TIME } from '../dist/common/constants.js';
import {
    BLOCKS, CHANGES, CONTROL, EARLIER_LENGTH, GIVES, GIVES_EARLIER, GIVES_OWN,
} from '../dist/common/recorder/shared-lane.js';
import { Lookout } from '../dist/node/lookout.js';

const leaf = (id) => LEAVE + 1 + id;

/** A lane whose block is rewritten with more words, and the results of looks at it. */
function lane() {
    const memory = new WebAssembly.Memory({ initial: 2, maximum: 2, shared: true });
    const header = new Uint32Array(memory.buffer, START, BLOCK_HEADER / 4);
    const place = new Uint32Array(memory.buffer, START + BLOCK_HEADER);
    place.fill(END_MARK);
    header.set([0, 5, 1000, 0]);
    const lookout = new Lookout();
    lookout.add(0, { memory, marked: true, earlier: new SharedArrayBuffer(CONTROL) });
    const parts = (blocks) => blocks.map(([, block]) => contents(block));
    return {
        block(words) {
            place.set(words);
            return new Uint8Array(memory.buffer).slice(START, START + BLOCK_HEADER + 4 * words.length);
        },
        look: () => parts([...lookout.look()]),
        handOver: (block) => contents(lookout.unwritten(0, block)),
    };
}

function contents(block) {
    const words = [...new Uint32Array(block.slice().buffer)];
    const [stack, depth, low, high] = words;
    return { stack, depth, time: low + high * 2 ** 32, words: words.slice(BLOCK_HEADER / 4) };
}

test('what two looks have seen is written, with the depth and the time it begins at', () => {
    const { block, look, handOver } = lane();
    block([1, 2]);
    assert.deepEqual(look(), []);
    assert.deepEqual(look(), [{ stack: 0, depth: 5, time: 1000, words: [1, 2] }]);
    assert.deepEqual(look(), []);
    const whole = block([1, 2, TIME + 7, LEAVE, LEAVE]);
    assert.deepEqual(handOver(whole), { stack: 0, depth: 7, time: 1000, words: [TIME + 7, LEAVE, LEAVE] });
});

test('an enter that was written and is a leaf now goes on with its leave', () => {
    const { block, look, handOver } = lane();
    block([1, 2]);
    look();
    assert.deepEqual(look()[0].words, [1, 2]);
    block([1, leaf(2), leaf(3), 4]);
    assert.deepEqual(look(), []);
    assert.deepEqual(look(), [{ stack: 0, depth: 7, time: 1000, words: [LEAVE, leaf(3), 4] }]);
    const whole = block([1, leaf(2), leaf(3), leaf(4), LEAVE]);
    assert.deepEqual(handOver(whole), { stack: 0, depth: 7, time: 1000, words: [LEAVE, LEAVE] });
});

test('a leaf that was one when it was written does not', () => {
    const { block, look, handOver } = lane();
    block([1, leaf(2)]);
    look();
    assert.deepEqual(look()[0].words, [1, leaf(2)]);
    assert.deepEqual(handOver(block([1, leaf(2), LEAVE])), { stack: 0, depth: 6, time: 1000, words: [LEAVE] });
});

test('the words of a wide time are not taken for a switch', () => {
    const { block, look, handOver } = lane();
    const words = [1, WIDE_TIME, SWITCH + 1, 2, 3];
    block(words);
    look();
    assert.deepEqual(look(), [{ stack: 0, depth: 5, time: 1000, words }]);
    assert.deepEqual(
        handOver(block([...words, LEAVE])),
        { stack: 0, depth: 7, time: 1000 + SWITCH + 1 + 2 * 2 ** 32, words: [LEAVE] },
    );
});

test('a block that came is not written again when its thread was terminated before it said so', () => {
    // The earlier events come as a block, then the recorder's.
    const words = { earlier: [0, 5, 1000, 0, 1, TIME + 7], own: [0, 6, 1007, 0, 2] };
    const closed = (words) => [...words, TIME + 993, 0xc0000000 + (5 << 26)];
    const rest = (sent, gives, received, changes = 1) => {
        const memory = new WebAssembly.Memory({ initial: 2, maximum: 2, shared: true });
        new Uint32Array(memory.buffer, START).fill(END_MARK).set(words.own);
        const control = new Int32Array(new SharedArrayBuffer(CONTROL + 4 * words.earlier.length));
        control.set(words.earlier, CONTROL / 4);
        control[EARLIER_LENGTH] = 4 * words.earlier.length;
        [control[CHANGES], control[BLOCKS], control[GIVES]] = [changes, sent, gives];
        const lookout = new Lookout();
        lookout.add(0, { memory, marked: true, earlier: control.buffer });
        for (let n = 0; n < received; n++) lookout.unwritten(0, new Uint8Array(BLOCK_HEADER));
        return [...lookout.rest(5, 2000)].map(([, block]) => contents(block));
    };
    const whole = { stack: 0, depth: 5, time: 1000, words: closed([1, TIME + 7, 2]) };
    assert.deepEqual(rest(3, 0, 3), [whole], 'nothing was given');
    assert.deepEqual(rest(3, GIVES_EARLIER, 2), [whole], 'it did not come');
    assert.deepEqual(rest(3, GIVES_EARLIER, 3), [{ stack: 0, depth: 6, time: 1007, words: closed([2]) }]);
    assert.deepEqual(rest(3, GIVES_EARLIER | GIVES_OWN, 3), []);
    assert.deepEqual(rest(3, 0, 2, 2), [], 'its thread runs on, and a block of it is not taken');
});
