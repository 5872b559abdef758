/** A trace in a file. */

import { closeSync, openSync, writeSync } from 'node:fs';
import type { Sink } from '../common/trace.js';

/** Writes a file, unbuffered: whatever ends the process leaves whole chunks. */
export class FileSink implements Sink {
    #file: number | undefined;
    readonly #path: string;

    /** The file is made when the first bytes come. */
    constructor(path: string) {
        this.#path = path;
    }

    chunk(bytes: Uint8Array): void {
        this.#file ??= openSync(this.#path, 'w');
        for (let at = 0; at < bytes.length; ) at += writeSync(this.#file, bytes, at);
    }

    close(): void {
        if (this.#file !== undefined) closeSync(this.#file);
        this.#file = undefined;
    }
}
