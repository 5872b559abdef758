/** Reads the lanes of running threads, so that the trace of a killed process lacks only its last moments. */

import { BLOCK_HEADER, LEAVE, SWITCH, WIDE_TIME, type Reason } from '../common/constants.js';
import { wordsOf } from '../common/trace/columns.js';
import { BLOCKS, CHANGES, CONTROL, type SharedLane } from '../common/recorder/shared-lane.js';
import { dropWords, pendingOf, restOf } from '../common/recorder/lane-reader.js';

interface WatchedLane {
    shared?: SharedLane;
    /** The number of blocks that came from the lane. */
    received: number;
    /** The bytes of the next block's words that are in the trace already. */
    written: number;
    /** The last of these words as it was written; an enter may have become a leaf since. */
    last: number;
    /** The length of the words at the last look, in bytes. */
    seen: number;
}

/** For the writer's thread. */
export class Lookout {
    readonly #lanes = new Map<number, WatchedLane>();

    add(lane: number, shared: SharedLane): void {
        this.#of(lane).shared = shared;
    }

    /** Notes that a lane has ended and handed over everything. */
    end(lane: number): void {
        delete this.#of(lane).shared;
    }

    /** Returns the part of a lane's block that is not in the trace yet. */
    unwritten(lane: number, block: Uint8Array): Uint8Array {
        const watched = this.#of(lane);
        const rest = unwritten(watched, block);
        watched.received++;
        watched.written -= Math.min(watched.written, block.length - BLOCK_HEADER);
        watched.seen = 0;
        return rest;
    }

    /**
     * Returns the words that lanes had at the last look and still have, and counts them as written. Since that look, other processors'
     * writes have become visible in order, and blocks that were sent before have come.
     */
    *look(): Generator<[lane: number, block: Uint8Array]> {
        for (const [lane, watched] of this.#lanes) {
            const block = watched.shared && steady(watched.shared, watched.received);
            if (!block) continue;
            const seen = watched.seen;
            watched.seen = block.length - BLOCK_HEADER;
            if (seen <= watched.written) continue;
            const part = unwritten(watched, block.subarray(0, BLOCK_HEADER + seen));
            watched.written = seen;
            watched.last = wordsOf(part).at(-1) ?? LEAVE;
            yield [lane, part];
        }
    }

    /**
     * Returns the rest of lanes that have not ended, with their open frames closed. Their later blocks are refused; words after a dropped
     * block are left out.
     */
    *rest(reason: Reason, now: number): Generator<[lane: number, block: Uint8Array]> {
        for (const [lane, watched] of this.#lanes) {
            const { shared, received } = watched;
            const rest = shared && atOnce(shared, received, () => restOf(shared, reason, now, received));
            if (rest) yield [lane, unwritten(watched, rest)];
        }
    }

    #of(lane: number): WatchedLane {
        let watched = this.#lanes.get(lane);
        if (!watched) this.#lanes.set(lane, (watched = { received: 0, written: 0, last: LEAVE, seen: 0 }));
        return watched;
    }
}

/** Reads a lane. `undefined` if it changes meanwhile, or if its earlier blocks were dropped. */
function atOnce<R>({ earlier }: SharedLane, received: number, read: () => R): R | undefined {
    const control = new Int32Array(earlier, 0, CONTROL / 4);
    for (let tries = 0; tries < 3; tries++) {
        const changes = Atomics.load(control, CHANGES);
        // A thread that was terminated while it handed over a block has counted the block, but the lane still has it.
        if (Atomics.load(control, BLOCKS) - received > (changes & 1)) return undefined;
        const found = read();
        if (Atomics.load(control, CHANGES) === changes) return found;
    }
    return undefined;
}

/** The lane's next block up to the first switch. `undefined` while the lane changes, or earlier blocks are on their way. */
function steady(shared: SharedLane, received: number): Uint8Array | undefined {
    const control = new Int32Array(shared.earlier, 0, CONTROL / 4);
    const changes = Atomics.load(control, CHANGES);
    if (changes % 2 !== 0 || Atomics.load(control, BLOCKS) !== received) return undefined;
    const block = pendingOf(shared);
    if (Atomics.load(control, CHANGES) !== changes || block.length <= BLOCK_HEADER) return undefined;
    // After a switch, a reader without the other stack's beginning doesn't know the depth.
    const words = wordsOf(block);
    let at = 0;
    // The two words of a wide time may look like a switch.
    while (at < words.length && words[at]! >>> 26 !== SWITCH >>> 26) at += words[at] === WIDE_TIME ? 3 : 1;
    return block.subarray(0, BLOCK_HEADER + 4 * at);
}

/** The part of a block that is not in the trace yet. If the last enter in the trace has become a leaf, its leave comes first. */
function unwritten({ written, last }: WatchedLane, block: Uint8Array): Uint8Array {
    const bytes = Math.min(written, block.length - BLOCK_HEADER);
    const end = BLOCK_HEADER + bytes;
    const word = bytes > 0 && bytes === written ? new DataView(block.buffer, block.byteOffset).getUint32(end - 4, true) : last;
    const isItsLeaf = word === LEAVE + 1 + last;
    if (!isItsLeaf) return dropWords(block, bytes);
    const split = new Uint8Array(block.length + 4);
    split.set(block.subarray(0, end));
    split.set(block.subarray(end), end + 4);
    new Uint32Array(split.buffer, end - 4, 2).set([last, LEAVE]);
    return dropWords(split, bytes);
}
