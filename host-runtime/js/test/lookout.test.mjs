// What is written of a lane that runs, piece by piece, is what its block holds in the end: also where an enter that was written has become a leaf.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BLOCK_HEADER, END_MARK, LEAVE, START, TIME } from '../dist/common/constants.js';
import { CONTROL } from '../dist/common/shared-lane.js';
import { Lookout } from '../dist/node/lookout.js';

const leaf = (id) => LEAVE + 1 + id;

/** A lane with a block of its own, which is written anew with more words, and what looks into it yield. */
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
