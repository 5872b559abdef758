/** Keeps a trace in the page's memory. */

import type { Sink } from '../common/trace/trace.js';

/** A trace to be downloaded or sent. */
export class MemorySink implements Sink {
    readonly #chunks: Uint8Array<ArrayBuffer>[] = [];

    chunk(bytes: Uint8Array): void {
        this.#chunks.push(bytes as Uint8Array<ArrayBuffer>);
    }

    close(): void {}

    /** The trace so far. */
    blob(): Blob {
        return new Blob(this.#chunks, { type: 'application/octet-stream' });
    }

    /** Lets the user save the trace as a file. */
    download(name: string): void {
        const link = document.createElement('a');
        link.href = URL.createObjectURL(this.blob());
        link.download = name;
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    }
}
