/** A trace that is posted while it is recorded. */

import { PART } from '../common/serving.js';
import type { Sink } from '../common/trace/trace.js';
import { hold } from './hold.js';

/**
 * The default of how long chunks wait for others to be posted with, in milliseconds. It is short, because what waits when a page is
 * closed may be lost. The first ones, which have the names of functions, don't wait.
 */
const DELAY = 20;
/** How often a post is tried, and the pause after the first time, in milliseconds. Each pause is twice the one before. */
const TRIES = 5;
const PAUSE = 500;
/** A part has so many bytes at most, but for a chunk that has more. */
const MOST = 16_000_000;
/**
 * And the first part. It has what the others can't be read without, and must be small enough to be posted again when the page goes
 * before it is acknowledged.
 */
const FIRST = 30_000;
/** Browsers promise to send 64 KiB of a page that is closed (`keepalive`). Some of it is for the chunk that ends the trace. */
const KEPT_ALIVE = 60_000;
const END = 2_000;
/**
 * Requests beyond that are dropped when the page is gone. So the thread holds the page until they are sent, for this long in
 * milliseconds: some time for each request to begin, and the rest by its bytes.
 */
const HOLD = 50;
const BYTES_PER_MILLISECOND = 10_000;
const MAX_HOLD = 300;
/** Such a request has so many bytes at most, but for a chunk that has more: what is sent of one that is dropped is lost. */
const MAX_PLAIN = 1_000_000;

/** A part of the trace as it is posted. */
interface Part {
    headers: Record<string, string>;
    body: Blob;
}

/**
 * Posts a trace in parts. Each part has complete chunks; all parts one after the other are the trace's file. The headers of a
 * request are `kperf-trace`, a random number of the trace, `kperf-part`, the part's number from 0, and for the last part
 * `kperf-last`. A part that isn't acknowledged is posted again, so a server may get one twice. If the page is closed with more than
 * browsers promise to send then, the last part has `kperf-unsent`, the number of bytes that may be missing.
 */
export class PostSink implements Sink {
    readonly #url: string;
    readonly #delay: number;
    readonly #trace = crypto.getRandomValues(new Uint32Array(4)).reduce((text, word) => text + word.toString(16).padStart(8, '0'), '');
    #waiting: Uint8Array<ArrayBuffer>[] = [];
    #part = 0;
    #timer: ReturnType<typeof setTimeout> | undefined;
    /** The posts, which go one after the other, and the parts that are not acknowledged. */
    #posts = Promise.resolve();
    readonly #open = new Set<Part>();
    #keptAlive = 0;
    /** Of a page that goes: the bytes that browsers may not send. */
    #unsent = 0;
    #failure: Error | undefined;
    #leaving = false;
    #closing = false;

    /** `delay`: how long chunks wait for others, in milliseconds. */
    constructor(url: string, delay = DELAY) {
        this.#url = url;
        this.#delay = delay;
    }

    /** Why the trace doesn't arrive; `undefined` if it does. */
    get trouble(): string | undefined {
        return this.#failure?.message.replace(/^kperf: /, '');
    }

    chunk(bytes: Uint8Array): void {
        if (this.#failure) throw this.#failure;
        this.#waiting.push(bytes as Uint8Array<ArrayBuffer>);
        this.#schedule();
    }

    async close(): Promise<void> {
        this.#closing = true;
        clearTimeout(this.#timer);
        if (this.#leaving) this.#postEnd();
        else while (this.#waiting.length > 0) this.#post();
        await this.#posts;
        if (this.#failure) throw this.#failure;
    }

    /** The page is being closed. From now on no post waits for an answer. A request on its way may be dropped, so its part is posted again. */
    leave(): void {
        this.#leaving = true;
        for (const part of this.#open) {
            const { size } = part.body;
            const keepalive = this.#keptAlive + size + END <= KEPT_ALIVE;
            if (keepalive) this.#keptAlive += size;
            else this.#unsent += size;
            this.#postOnce(part, keepalive);
        }
    }

    #schedule(): void {
        // While a part is on its way, more gathers for the next.
        if (this.#timer !== undefined || this.#open.size > 0) return;
        this.#timer = setTimeout(() => {
            this.#timer = undefined;
            if (!this.#leaving && this.#waiting.length > 0) this.#post();
        }, this.#part === 0 ? 0 : this.#delay);
    }

    #post(): void {
        const most = this.#part === 0 ? FIRST : MOST;
        let count = 0;
        for (let bytes = 0; count < this.#waiting.length && (count === 0 || bytes + this.#waiting[count]!.length <= most); count++) bytes += this.#waiting[count]!.length;
        const part = this.#next(this.#waiting.splice(0, count), this.#closing && this.#waiting.length === 0);
        this.#open.add(part);
        this.#posts = this.#posts.then(() => this.#send(part)).finally(() => {
            this.#open.delete(part);
            if (this.#waiting.length > 0) this.#schedule();
        });
    }

    #next(chunks: Uint8Array<ArrayBuffer>[], isLast: boolean): Part {
        const headers: Record<string, string> = { 'content-type': 'application/octet-stream', [PART.trace]: this.#trace, [PART.number]: String(this.#part++) };
        if (isLast) headers[PART.last] = '1';
        return { headers, body: new Blob(chunks) };
    }

    /** Posts all that waits when the page is closed: what browsers promise to send, and the rest in requests that the page is held for. */
    #postEnd(): void {
        const chunks = this.#waiting.splice(0);
        let room = KEPT_ALIVE - this.#keptAlive - (chunks.at(-1)?.length ?? 0);
        let run: { chunks: Uint8Array<ArrayBuffer>[]; bytes: number; keepalive: boolean } | undefined;
        const runs: NonNullable<typeof run>[] = [];
        chunks.forEach((chunk, at) => {
            const { length } = chunk;
            const keepalive = at === chunks.length - 1 || length <= room;
            if (keepalive) room -= length;
            if (run?.keepalive !== keepalive || (!keepalive && run.bytes + length > MAX_PLAIN)) runs.push((run = { chunks: [], bytes: 0, keepalive }));
            run.chunks.push(chunk);
            run.bytes += length;
        });
        this.#unsent += runs.reduce((sum, { bytes, keepalive }) => sum + (keepalive ? 0 : bytes), 0);
        runs.forEach(({ chunks, keepalive }, at) => {
            const isLast = at === runs.length - 1;
            const part = this.#next(chunks, isLast);
            if (isLast && this.#unsent > 0) part.headers[PART.unsent] = String(this.#unsent);
            this.#postOnce(part, keepalive);
        });
        if (this.#unsent > 0) hold(Math.min(MAX_HOLD, HOLD + this.#unsent / BYTES_PER_MILLISECOND));
    }

    /** Posts a part without an answer. */
    #postOnce({ headers, body }: Part, keepalive: boolean): void {
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
