/** Sorts a block's words into columns: codec 1 of host-runtime/trace/FORMAT.md. kperf-trace's encode.rs does the same. */

import { BLOCK_HEADER, LEAVE, MARK, Reason, TIME, UNWIND, WIDE_TIME } from '../constants.js';

/** Length of the payload's header, and in it the offsets of the packed columns' bits and of the columns' lengths. */
export const PREFIX = 48;
export const PACKED = 2;
export const LENGTHS = 24;
/** The number of words by which the form of the times is chosen. */
const SAMPLE = 1024;

/** The payload of an `EVTS` chunk, and its number of enters, leaves, unwinds and marks. */
export interface Encoded {
    payload: Uint8Array;
    events: number;
}

/** Makes payloads, each valid until the next. */
export interface Encoder {
    encode(block: Uint8Array): Encoded;
}

/** Reuses its buffers. Columns are not packed. */
export class Columns implements Encoder {
    readonly #ids = new Column();
    readonly #others = new Column();
    readonly #times = new Column();

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

/** Returns the number of entries, and of entries that aren't events. */
function sort(block: Uint32Array, isDense: boolean, ids: Column, others: Column, times: Column): { entries: number; noEvents: number } {
    // Signed words and columns in local variables make this loop, which runs for every event, a third faster.
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
            // A leaf: an enter and a leave. Its word has the id plus one.
            idEnd = putNumber(idBytes, idEnd, (word & 0x3fffffff) + 1);
            idBytes[idEnd++] = 0;
            if (isDense) timeEnd = putNumber(timeBytes, timeEnd, 0);
            entries++;
        } else {
            idBytes[idEnd++] = 1;
            others.word(word);
            if (!isRareEvent(word >>> 26)) noEvents++;
            // A wide time that is cut off is the last.
            if (isWide) break;
        }
    }
    ids.end = idEnd;
    times.end = timeEnd;
    return { entries, noEvents };
}

/** Writes a number in LEB128, and returns the next position. */
function putNumber(bytes: Uint8Array, at: number, value: number): number {
    // Operators for integers take no more than 31 bits.
    for (; value > 0x7fffffff; value = Math.floor(value / 0x80)) bytes[at++] = (value % 0x80) | 0x80;
    for (; value > 0x7f; value >>>= 7) bytes[at++] = (value & 0x7f) | 0x80;
    bytes[at++] = value;
    return at;
}

/** Whether a word with these upper six bits, neither enter nor leave, is an event. */
function isRareEvent(kind: number): boolean {
    return (kind >= UNWIND >>> 26 && kind <= (UNWIND >>> 26) + Reason.Unfinished) || kind === MARK >>> 26;
}

function countTimes(words: Uint32Array): number {
    let times = 0;
    for (const word of words) times += word >>> 30 === 1 ? 1 : 0;
    return times;
}

/** A block's words. */
export function wordsOf(block: Uint8Array): Uint32Array {
    const length = (block.length - BLOCK_HEADER) >> 2;
    if ((block.byteOffset & 3) === 0) return new Uint32Array(block.buffer, block.byteOffset + BLOCK_HEADER, length);
    // Copied by the constructor: the `slice` of node's Buffer doesn't copy.
    return new Uint32Array(new Uint8Array(block.subarray(BLOCK_HEADER, BLOCK_HEADER + 4 * length)).buffer);
}

class Column {
    bytes = new Uint8Array(0);
    end = 0;

    /** Empties the column, and makes room for `max` bytes. */
    begin(max: number): void {
        if (this.bytes.length < max) this.bytes = new Uint8Array(max);
        this.end = 0;
    }

    /** The content, valid until the next `begin`. */
    done(): Uint8Array {
        return this.bytes.subarray(0, this.end);
    }

    word(word: number): void {
        for (let shift = 0; shift < 32; shift += 8) this.bytes[this.end++] = (word >>> shift) & 0xff;
    }
}
