/** Sorts a block into columns, codec 1 of host-runtime/trace/FORMAT.md, as kperf-trace's encode.rs does. */

import { BLOCK_HEADER, LEAVE, MARK, Reason, TIME, UNWIND, WIDE_TIME } from '../constants.js';

/** Length of what stands before the columns, codec byte included. In it: which columns are packed, and two lengths of each. */
export const PREFIX = 48;
export const PACKED = 2;
export const LENGTHS = 24;
/** How many words are looked at to choose the form of the times. */
const SAMPLE = 1024;

/** The payload of an `EVTS` chunk, and how many events are in it: enters, leaves, unwinds and marks. */
export interface Encoded {
    payload: Uint8Array;
    events: number;
}

/** Makes payloads of blocks. What it answers may be gone with the next block. */
export interface Encoder {
    encode(block: Uint8Array): Encoded;
}

/** Sorts blocks; keeps its buffers from block to block. */
export class Columns implements Encoder {
    readonly #ids = new Column();
    readonly #others = new Column();
    readonly #times = new Column();

    /** Columns are stored as they are. */
    encode(block: Uint8Array): Encoded {
        const words = wordsOf(block);
        const [ids, others, times] = [this.#ids, this.#others, this.#times];
        // A leaf has one byte more than an enter: its leave's.
        ids.begin(6 * words.length);
        others.begin(4 * words.length);
        times.begin(11 * words.length + 20);
        const isDense = countTimes(words.subarray(0, SAMPLE)) > Math.floor(Math.min(words.length, SAMPLE) / 3);
        const { entries, noEvents } = sort(words, isDense, ids, others, times);

        const columns = [ids, others, times].map((column) => column.done());
        const payload = new Uint8Array(columns.reduce((sum, column) => sum + column.length, PREFIX));
        const view = new DataView(payload.buffer);
        payload[0] = 1;
        payload[1] = isDense ? 0 : 1;
        payload.set(block.subarray(0, BLOCK_HEADER), 4);
        view.setUint32(20, entries, true);
        let at = PREFIX;
        columns.forEach((column, n) => {
            view.setUint32(LENGTHS + 8 * n, column.length, true);
            view.setUint32(LENGTHS + 4 + 8 * n, column.length, true);
            payload.set(column, at);
            at += column.length;
        });
        return { payload, events: entries - noEvents };
    }
}

/** Takes the words apart. Answers how many entries there are, and how many of them are no events. */
function sort(block: Uint32Array, isDense: boolean, ids: Column, others: Column, times: Column): { entries: number; noEvents: number } {
    // With a sign, and columns in variables of their own: this loop runs for every event, and is a third faster so.
    const words = new Int32Array(block.buffer, block.byteOffset, block.length);
    const [idBytes, timeBytes] = [ids.bytes, times.bytes];
    let [idEnd, timeEnd] = [0, 0];
    let [entries, timed, pending, noEvents] = [0, 0, 0, 0];
    for (let at = 0; at < words.length; at++) {
        const word = words[at]!;
        if (word >= TIME) {
            pending += word - TIME;
            continue;
        }
        const isWide = word === (WIDE_TIME | 0);
        if (isWide && at + 2 < words.length) {
            pending += block[at + 1]! + block[at + 2]! * 2 ** 32;
            at += 2;
            continue;
        }
        if (isDense) {
            timeEnd = putNumber(timeBytes, timeEnd, pending);
            pending = 0;
        } else if (pending !== 0) {
            timeEnd = putNumber(timeBytes, timeEnd, entries - timed);
            timeEnd = putNumber(timeBytes, timeEnd, pending);
            timed = entries;
            pending = 0;
        }
        entries++;
        if (word >= 0) {
            idEnd = putNumber(idBytes, idEnd, word + 2);
        } else if (word === (LEAVE | 0)) {
            idBytes[idEnd++] = 0;
        } else if (word < (UNWIND | 0)) {
            // A leaf: an enter and a leave at once. Its word has one more than the id.
            idEnd = putNumber(idBytes, idEnd, (word & 0x3fffffff) + 1);
            idBytes[idEnd++] = 0;
            if (isDense) timeEnd = putNumber(timeBytes, timeEnd, 0);
            entries++;
        } else {
            idBytes[idEnd++] = 1;
            others.word(word);
            if (!isRareEvent(word >>> 26)) noEvents++;
            // One that is cut off: nothing behind it means anything.
            if (isWide) break;
        }
    }
    ids.end = idEnd;
    times.end = timeEnd;
    return { entries, noEvents };
}

/** Writes a number in LEB128; answers where the next one goes. */
function putNumber(bytes: Uint8Array, at: number, value: number): number {
    // Operators for integers take no more than 31 bits.
    for (; value > 0x7fffffff; value = Math.floor(value / 0x80)) bytes[at++] = (value % 0x80) | 0x80;
    for (; value > 0x7f; value >>>= 7) bytes[at++] = (value & 0x7f) | 0x80;
    bytes[at++] = value;
    return at;
}

/** Whether a word that is no enter and no leave is an event; its six upper bits. */
function isRareEvent(kind: number): boolean {
    return (kind >= UNWIND >>> 26 && kind <= (UNWIND >>> 26) + Reason.Unfinished) || kind === MARK >>> 26;
}

function countTimes(words: Uint32Array): number {
    let times = 0;
    for (const word of words) times += word >>> 30 === 1 ? 1 : 0;
    return times;
}

/** The words of a block. */
export function wordsOf(block: Uint8Array): Uint32Array {
    const length = (block.length - BLOCK_HEADER) >> 2;
    if ((block.byteOffset & 3) === 0) return new Uint32Array(block.buffer, block.byteOffset + BLOCK_HEADER, length);
    // A copy: node's Buffer has a `slice` that makes none.
    return new Uint32Array(new Uint8Array(block.subarray(BLOCK_HEADER, BLOCK_HEADER + 4 * length)).buffer);
}

/** A column in the making. */
class Column {
    bytes = new Uint8Array(0);
    /** Where it ends. */
    end = 0;

    /** Empties it; it can take so many bytes. */
    begin(most: number): void {
        if (this.bytes.length < most) this.bytes = new Uint8Array(most);
        this.end = 0;
    }

    /** What was put in. Gone with the next `begin`. */
    done(): Uint8Array {
        return this.bytes.subarray(0, this.end);
    }

    word(word: number): void {
        for (let shift = 0; shift < 32; shift += 8) this.bytes[this.end++] = (word >>> shift) & 0xff;
    }
}
