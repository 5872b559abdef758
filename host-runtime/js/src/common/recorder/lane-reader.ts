/** Reads another thread's lane, while that thread runs or after it has ended. */

import { BLOCK_HEADER, CAPACITY, END_MARK, LEAVE, POSITION, SAVED_DEPTHS, STACKS, START, SWITCH, TIME, UNWIND, WIDE_TIME, type Reason } from '../constants.js';
import {
    ARMED, BLOCKS, CONTROL, EARLIER_ARMED, EARLIER_LENGTH, GIVES, GIVES_EARLIER, GIVES_OWN, LAST_START, SENT, type SharedLane,
} from './shared-lane.js';
import { wordsOf } from '../trace/columns.js';

/**
 * The block that the lane hands over next, as far as it is written; empty or only a header if there is none. `received` is the number of
 * blocks that came already, which shows whether the last one handed over has come.
 */
export function pendingOf({ memory, marked, earlier }: SharedLane, received?: number): Uint8Array {
    const control = new Int32Array(earlier, 0, CONTROL / 4);
    const words = new Uint32Array(memory.buffer);
    const given = control[BLOCKS] === received ? control[GIVES]! : 0;
    const kept = new Uint8Array(earlier, CONTROL, given & GIVES_EARLIER ? 0 : control[EARLIER_LENGTH]);
    const position = marked ? markedEnd(words) : words[POSITION / 4]!;
    // A full block may end at the same position, but then it is being handed over.
    const isArmed = position === ARMED && (control[GIVES]! & GIVES_OWN) === 0;
    const isSent = (given & GIVES_OWN) !== 0 || (position > LAST_START && (control[SENT] === 1 || isArmed));
    const isThere = control[EARLIER_ARMED] === 0 && !isSent;
    // A block continues the one before, so its header is left out.
    const begin = kept.length === 0 ? START : START + BLOCK_HEADER;
    const present = new Uint8Array(memory.buffer, begin, isThere && position > begin ? position - begin : 0);
    const block = new Uint8Array(kept.length + present.length);
    block.set(kept);
    block.set(present, kept.length);
    return block;
}

/** The end of an inlined recorder's block: the first end mark. */
export function markedEnd(words: Uint32Array): number {
    const end = START + CAPACITY;
    let at = START + BLOCK_HEADER;
    // A wide time's two words may look like the mark.
    for (let word; at < end && (word = words[at / 4]!) !== END_MARK; ) at += word === WIDE_TIME ? 12 : 4;
    return Math.min(at, end);
}

/** A block without its first `bytes` of words, which contain no switch. */
export function dropWords(block: Uint8Array, bytes: number): Uint8Array {
    if (bytes === 0) return block;
    const { last, stack, depth } = tailOf(block.subarray(0, BLOCK_HEADER + bytes), () => 0);
    const rest = new Uint8Array(block.length - bytes);
    rest.set(block.subarray(BLOCK_HEADER + bytes), BLOCK_HEADER);
    new Uint32Array(rest.buffer, 0, 4).set([stack, depth, last % 2 ** 32, Math.floor(last / 2 ** 32)]);
    return rest;
}

/** The lane's last block (see `pendingOf`) with its open frames closed; `undefined` if it would be empty. */
export function restOf(lane: SharedLane, reason: Reason, now: number, received?: number): Uint8Array | undefined {
    const block = pendingOf(lane, received);
    if (block.length <= BLOCK_HEADER) return undefined;
    const words = new Uint32Array(lane.memory.buffer);
    const saved = (stack: number): number => words[SAVED_DEPTHS / 4 + stack] ?? 0;
    const tail = tailOf(block, saved);
    const close: number[] = [];
    if (tail.depth > 0) close.push(unwind(reason));
    for (let stack = 0; stack < STACKS; stack++) {
        if (stack !== tail.stack && saved(stack) > 0) close.push(SWITCH + stack, unwind(reason));
    }
    if (close.length === 0) return block;
    const passed = Math.max(0, now - tail.last);
    const time = passed < 2 ** 30 ? [TIME + passed] : [WIDE_TIME, passed % 2 ** 32, Math.floor(passed / 2 ** 32)];
    const end = Uint32Array.from([...time, ...close]);
    const all = new Uint8Array(block.length + end.byteLength);
    all.set(block);
    all.set(new Uint8Array(end.buffer), block.length);
    return all;
}

function unwind(reason: Reason): number {
    return UNWIND + reason * 2 ** 26;
}

/** The recorder's state at a block's end: the time, the running stack, and its number of open frames. */
function tailOf(block: Uint8Array, saved: (stack: number) => number): { last: number; stack: number; depth: number } {
    const view = new DataView(block.buffer, block.byteOffset);
    let stack = view.getUint32(0, true);
    let depth = view.getUint32(4, true);
    let last = view.getUint32(8, true) + view.getUint32(12, true) * 2 ** 32;
    const words = wordsOf(block);
    for (let at = 0; at < words.length; at++) {
        const word = words[at]!;
        if (word < TIME) depth++;
        else if (word < LEAVE) last += word - TIME;
        else if (word === LEAVE) depth = Math.max(0, depth - 1);
        else if (word === WIDE_TIME) {
            last += (words[at + 1] ?? 0) + (words[at + 2] ?? 0) * 2 ** 32;
            at += 2;
        } else if (word < UNWIND) continue; // A leaf is an enter and a leave.
        else if (word < WIDE_TIME) depth = Math.min(depth, word & 0x3ffffff);
        else if (word >>> 26 === SWITCH >>> 26) {
            stack = word & 0x3ffffff;
            depth = saved(stack);
        }
    }
    return { last, stack, depth };
}
