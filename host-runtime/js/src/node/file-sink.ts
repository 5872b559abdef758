/** Writes a trace to a file. */

import { closeSync, writeSync } from 'node:fs';
import type { Sink } from '../common/trace/trace.js';
import { openTrace } from './trace-file.js';

/** Unbuffered, so that the file has complete chunks however the process ends. */
export class FileSink implements Sink {
    #file: number | undefined;
    readonly #path: string;
    /** See `openTrace`. */
    other: number | undefined;

    /** The first chunk creates the file. */
    constructor(path: string) {
        this.#path = path;
    }

    chunk(bytes: Uint8Array): void {
        this.#file ??= this.#open();
        for (let at = 0; at < bytes.length; ) at += writeSync(this.#file, bytes, at);
    }

    #open(): number {
        const { file, other } = openTrace(this.#path);
        this.other = other;
        return file;
    }

    close(): void {
        if (this.#file !== undefined) closeSync(this.#file);
        this.#file = undefined;
    }
}
