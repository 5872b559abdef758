/** Passes a worker's chunks to its page through shared memory, which the page reads also when it is closed. */

import { CHUNK_HEADER } from '../common/constants.js';
import type { Sink } from '../common/trace/trace.js';
import { kindOf } from '../common/trace/trace-writer.js';

/** A power of two. */
const SIZE = 1 << 20;
/** Words before the bytes: how many were written and read. */
const WRITTEN = 0, READ = 1;
const WORDS = 2;
/** How long a worker whose ring is full waits at its end, in milliseconds. */
const PATIENCE = 400;

/** The worker's side. */
export class RingSink implements Sink {
    readonly buffer = new SharedArrayBuffer(4 * WORDS + SIZE);
    readonly #words = new Int32Array(this.buffer, 0, WORDS);
    readonly #bytes = new Uint8Array(this.buffer, 4 * WORDS);
    readonly #waiting: Uint8Array[] = [];
    readonly #ended: Int32Array<SharedArrayBuffer>;

    /** `ended` is set to 1 at the end. */
    constructor(ended: Int32Array<SharedArrayBuffer>) {
        this.#ended = ended;
    }

    chunk(bytes: Uint8Array): void {
        // The page's trace has its own beginning.
        if (bytes.length < CHUNK_HEADER || kindOf(bytes) === 'HEAD') return;
        this.#waiting.push(bytes);
        this.pass();
    }

    close(): void {
        for (const end = performance.now() + PATIENCE; !this.pass() && performance.now() < end; ) Atomics.wait(this.#words, READ, this.#words[READ]!, 10);
        Atomics.store(this.#ended, 0, 1);
    }

    /** Passes on what fits; called again and again. Returns whether that is all. */
    pass(): boolean {
        const words = this.#words;
        for (let chunk; (chunk = this.#waiting[0]); ) {
            const written = words[WRITTEN]!;
            const piece = chunk.subarray(0, SIZE - ((written - Atomics.load(words, READ)) | 0));
            if (piece.length === 0) return false;
            const at = written & (SIZE - 1);
            const first = piece.subarray(0, SIZE - at);
            this.#bytes.set(first, at);
            this.#bytes.set(piece.subarray(first.length));
            Atomics.store(words, WRITTEN, written + piece.length);
            if (piece.length === chunk.length) this.#waiting.shift();
            else this.#waiting[0] = chunk.subarray(piece.length);
        }
        return true;
    }
}

/** The page's side. */
export class RingReader {
    readonly #words: Int32Array;
    readonly #bytes: Uint8Array;
    /** The beginning of a chunk. */
    #rest = new Uint8Array();

    constructor(buffer: SharedArrayBuffer) {
        this.#words = new Int32Array(buffer, 0, WORDS);
        this.#bytes = new Uint8Array(buffer, 4 * WORDS);
    }

    /** Passes on the complete chunks. */
    read(take: (chunk: Uint8Array) => void): void {
        const words = this.#words;
        const from = words[READ]!;
        const to = Atomics.load(words, WRITTEN);
        const length = (to - from) | 0;
        if (length === 0) return;
        const rest = this.#rest;
        const got = new Uint8Array(rest.length + length);
        const at = from & (SIZE - 1);
        got.set(rest);
        got.set(this.#bytes.subarray(at, at + length), rest.length);
        if (at + length > SIZE) got.set(this.#bytes.subarray(0, at + length - SIZE), rest.length + SIZE - at);
        Atomics.store(words, READ, to);
        Atomics.notify(words, READ);
        let begin = 0;
        const view = new DataView(got.buffer);
        for (let end; got.length - begin >= CHUNK_HEADER && (end = begin + CHUNK_HEADER + view.getUint32(begin + 16, true)) <= got.length; begin = end) take(got.slice(begin, end));
        this.#rest = got.slice(begin);
    }
}
