/** Reads the lanes of threads that run, so that the trace of a killed process lacks only its last moments. */

import { BLOCK_HEADER, LEAVE, SWITCH, WIDE_TIME, type Reason } from '../common/constants.js';
import { wordsOf } from '../common/trace/columns.js';
import { BLOCKS, CHANGES, CONTROL, type SharedLane } from '../common/recorder/shared-lane.js';
import { dropWords, pendingOf, restOf } from '../common/recorder/lane-reader.js';

interface Watched {
    shared?: SharedLane;
    /** How many blocks came from the lane. */
    received: number;
    /** How many bytes of the next block's words are in the trace already. */
    written: number;
    /** The last of these words as it was written: an enter may have become a leaf since. */
    last: number;
    /** How many bytes were there at the last look. */
    seen: number;
}

/** Belongs to the thread that writes. */
export class Lookout {
    readonly #lanes = new Map<number, Watched>();

    /** A lane that can be looked into. */
    add(lane: number, shared: SharedLane): void {
        this.#of(lane).shared = shared;
    }

    /** The lane has ended and handed over everything. */
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
     * Returns the words that lanes hold now and held at the last look already. Other processors' writes may be seen out of order, but
     * not that late, and blocks that were sent before have arrived. These words count as written.
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
     * Returns what lanes hold that have not ended, and closes their open frames, for a reason and at a time. Their later blocks are
     * refused, and what follows a dropped block is left out.
     */
    *rest(reason: Reason, now: number): Generator<[lane: number, block: Uint8Array]> {
        for (const [lane, watched] of this.#lanes) {
            const { shared, received } = watched;
            const rest = shared && atOnce(shared, received, () => restOf(shared, reason, now, received));
            if (rest) yield [lane, unwritten(watched, rest)];
        }
    }

    #of(lane: number): Watched {
        let watched = this.#lanes.get(lane);
        if (!watched) this.#lanes.set(lane, (watched = { received: 0, written: 0, last: LEAVE, seen: 0 }));
        return watched;
    }
}

/** Reads a lane. `undefined` if the lane changes meanwhile, or if earlier blocks of it were dropped. */
function atOnce<R>({ earlier }: SharedLane, received: number, read: () => R): R | undefined {
    const control = new Int32Array(earlier, 0, CONTROL / 4);
    for (let tries = 0; tries < 3; tries++) {
        const changes = Atomics.load(control, CHANGES);
        // If the thread was terminated while it handed over a block, the block is still there, but counted.
        if (Atomics.load(control, BLOCKS) - received > (changes & 1)) return undefined;
        const found = read();
        if (Atomics.load(control, CHANGES) === changes) return found;
    }
    return undefined;
}

/** The lane's next block up to now, or up to the first switch. `undefined` if it changes right now, or earlier blocks are on their way. */
function steady(shared: SharedLane, received: number): Uint8Array | undefined {
    const control = new Int32Array(shared.earlier, 0, CONTROL / 4);
    const changes = Atomics.load(control, CHANGES);
    if (changes % 2 !== 0 || Atomics.load(control, BLOCKS) !== received) return undefined;
    const block = pendingOf(shared);
    if (Atomics.load(control, CHANGES) !== changes || block.length <= BLOCK_HEADER) return undefined;
    // After a switch the depth is unknown to a reader that hasn't seen the other stack's beginning.
    const words = wordsOf(block);
    let at = 0;
    // The two words of a wide time may look like a switch.
    while (at < words.length && words[at]! >>> 26 !== SWITCH >>> 26) at += words[at] === WIDE_TIME ? 3 : 1;
    return block.subarray(0, BLOCK_HEADER + 4 * at);
}

/** The part of a block that is not in the trace yet. If the last enter in the trace has become a leaf, its leave comes first. */
function unwritten({ written, last }: Watched, block: Uint8Array): Uint8Array {
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
