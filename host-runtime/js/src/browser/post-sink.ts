/** A trace that is posted while it is recorded. */

import type { Sink } from '../common/trace.js';

/** Chunks wait so long for others, in milliseconds, before they are posted together, if nobody says. */
const DELAY = 500;
/** How often a post is tried, and how long it waits after the first time, in milliseconds; then twice as long. */
const TRIES = 5;
const PAUSE = 500;
/** What browsers send of a page that is closed: 64 KiB in all. */
const KEPT_ALIVE = 60_000;

/** A part of the trace as it is posted. */
interface Part {
    headers: Record<string, string>;
    body: Blob;
}

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
    /** The posts, one after the other, and what of them is not acknowledged. */
    #posts = Promise.resolve();
    readonly #open = new Set<Part>();
    #keptAlive = 0;
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

    /**
     * The page is being closed: from here on nothing waits for an answer, and browsers send 64 KiB at most. What is on its way may not
     * get there: it is posted again.
     */
    leave(): void {
        this.#leaving = true;
        for (const part of this.#open) this.#postLast(part);
    }

    #post(): void {
        clearTimeout(this.#timer);
        this.#timer = undefined;
        const chunks = this.#waiting.splice(0);
        if (chunks.length === 0) return;
        const headers: Record<string, string> = { 'content-type': 'application/octet-stream', 'kperf-trace': this.#trace, 'kperf-part': String(this.#part++) };
        if (this.#closing) headers['kperf-last'] = '1';
        const part = { headers, body: new Blob(chunks) };
        if (this.#leaving) return this.#postLast(part);
        this.#open.add(part);
        this.#posts = this.#posts.then(() => this.#send(part)).finally(() => this.#open.delete(part));
    }

    #postLast({ headers, body }: Part): void {
        const keepalive = this.#keptAlive + body.size <= KEPT_ALIVE;
        if (keepalive) this.#keptAlive += body.size;
        void fetch(this.#url, { method: 'POST', headers, body, keepalive }).catch(() => undefined);
    }

    async #send(part: Part): Promise<void> {
        if (this.#leaving) return;
        if (typeof CompressionStream === 'function') {
            const packed = await new Response(part.body.stream().pipeThrough(new CompressionStream('gzip'))).blob();
            Object.assign(part, { body: packed, headers: { ...part.headers, 'content-encoding': 'gzip' } });
        }
        for (let tries = 1; ; tries++) {
            let trouble: string;
            try {
                const response = await fetch(this.#url, { method: 'POST', ...part });
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
}
