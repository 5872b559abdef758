/** A trace that is posted while it is recorded. */

import type { Sink } from '../common/trace.js';

/** Chunks wait so long for others, in milliseconds, before they are posted together, if nobody says. */
const DELAY = 500;
/** How often a post is tried, and how long it waits after the first time, in milliseconds; then twice as long. */
const TRIES = 5;
const PAUSE = 500;
/** What browsers send of a page that is closed: 64 KiB in all. */
const KEPT_ALIVE = 60_000;

/**
 * Posts a trace in parts: bodies of whole chunks that make the file when they are put one behind the other. Each request
 * has `kperf-trace`, a random number of the trace, and `kperf-part`, the part's number from 0; the last one has `kperf-last`. A part that was not
 * acknowledged is posted again, so a server may see one twice.
 */
export class PostSink implements Sink {
    readonly #url: string;
    readonly #delay: number;
    readonly #trace = crypto.getRandomValues(new Uint32Array(4)).reduce((text, word) => text + word.toString(16).padStart(8, '0'), '');
    #waiting: Uint8Array<ArrayBuffer>[] = [];
    #part = 0;
    #timer: ReturnType<typeof setTimeout> | undefined;
    /** The posts, one after the other. */
    #posts = Promise.resolve();
    #failure: Error | undefined;
    #leaving = false;
    #closing = false;

    /** `delay`: how long chunks wait for others, in milliseconds. */
    constructor(url: string, delay = DELAY) {
        this.#url = url;
        this.#delay = delay;
    }

    chunk(bytes: Uint8Array): void {
        if (this.#failure) throw this.#failure;
        this.#waiting.push(bytes as Uint8Array<ArrayBuffer>);
        this.#timer ??= setTimeout(() => this.#post(), this.#delay);
    }

    async close(): Promise<void> {
        this.#closing = true;
        this.#post();
        await this.#posts;
        if (this.#failure) throw this.#failure;
    }

    /** The page is being closed: from here on nothing waits for an answer, and browsers send 64 KiB at most. */
    leave(): void {
        this.#leaving = true;
    }

    #post(): void {
        clearTimeout(this.#timer);
        this.#timer = undefined;
        const chunks = this.#waiting.splice(0);
        if (chunks.length === 0) return;
        const part = this.#part++;
        if (this.#leaving) {
            const body = new Blob(chunks);
            void fetch(this.#url, { ...this.#request(part), body, keepalive: body.size <= KEPT_ALIVE }).catch(() => undefined);
            return;
        }
        this.#posts = this.#posts.then(() => this.#send(part, new Blob(chunks)));
    }

    async #send(part: number, blob: Blob): Promise<void> {
        const request = this.#request(part);
        let body = blob;
        if (typeof CompressionStream === 'function') {
            body = await new Response(blob.stream().pipeThrough(new CompressionStream('gzip'))).blob();
            request.headers['content-encoding'] = 'gzip';
        }
        for (let tries = 1; ; tries++) {
            let trouble: string;
            try {
                const response = await fetch(this.#url, { ...request, body });
                if (response.ok) return;
                trouble = `it answers ${response.status}`;
                if (response.status < 500 && response.status !== 429) tries = TRIES;
            } catch (error) {
                trouble = String(error);
            }
            if (tries >= TRIES) {
                this.#failure ??= new Error(`kperf: the trace can't be posted to ${this.#url}: ${trouble}`);
                return;
            }
            await new Promise((resolve) => setTimeout(resolve, PAUSE * 2 ** (tries - 1)));
        }
    }

    #request(part: number): { method: string; headers: Record<string, string> } {
        const headers: Record<string, string> = { 'content-type': 'application/octet-stream', 'kperf-trace': this.#trace, 'kperf-part': String(part) };
        if (this.#closing) headers['kperf-last'] = '1';
        return { method: 'POST', headers };
    }
}
