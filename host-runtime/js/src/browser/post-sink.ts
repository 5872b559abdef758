/** Posts a trace while it is recorded. */

import { PART } from '../common/serving.js';
import type { Sink } from '../common/trace/trace.js';

/**
 * How long chunks wait to be posted together, in milliseconds. It is short, because chunks that wait when a page is closed may be lost. The
 * first ones, which have the names of functions, don't wait.
 */
const DELAY = 20;
/** How often a post is tried, and the first pause in milliseconds. Each pause is twice the previous one. */
const TRIES = 5;
const PAUSE = 500;
/** The most bytes of a part, unless a single chunk has more. */
const MAX_PART = 16_000_000;
/**
 * The same for the first part. The others can't be read without it, so it must be small enough to be posted again if the page closes before
 * the response.
 */
const MAX_FIRST = 30_000;
/** Browsers guarantee 64 KiB for a closed page (`keepalive`). Some of it is for the chunk that ends the trace. */
const KEPT_ALIVE = 60_000;
const END = 2_000;
/**
 * Browsers drop other requests when the page is gone. So the page stays until they are sent: for HOLD milliseconds, and more for each byte.
 */
const HOLD = 50;
const BYTES_PER_MILLISECOND = 10_000;
const MAX_HOLD = 300;
/** The most bytes of such a request, unless a single chunk has more: a dropped request is lost as a whole. */
const MAX_PLAIN = 1_000_000;

/** A part of the trace, to be posted. */
interface Part {
    headers: Record<string, string>;
    body: Blob;
}

/**
 * Posts a trace in parts of complete chunks; their concatenation is the trace's file. Headers of a request:
 *
 * * `kperf-trace`: the trace's random number, 32 hexadecimal digits
 * * `kperf-part`: the part's number, from 0
 * * `kperf-last`: this is the last part
 * * `kperf-unsent`: in the last part of a closed page, the maximum number of bytes that the browser doesn't send
 *
 * A part without a response is posted again, so a server may get a part twice.
 */
export class PostSink implements Sink {
    readonly #url: string;
    readonly #delay: number;
    readonly #trace = crypto.getRandomValues(new Uint32Array(4)).reduce((text, word) => text + word.toString(16).padStart(8, '0'), '');
    #waiting: Uint8Array<ArrayBuffer>[] = [];
    #part = 0;
    #timer: ReturnType<typeof setTimeout> | undefined;
    /** The chain of posts, which run one at a time, and the parts without a response. */
    #posts = Promise.resolve();
    readonly #open = new Set<Part>();
    #keptAlive = 0;
    /** The number of bytes that browsers may drop, after the page was closed. */
    #unsent = 0;
    #failure: Error | undefined;
    #leaving = false;
    #closing = false;

    /** `delay`: how long chunks wait to be posted together, in milliseconds. */
    constructor(url: string, delay = DELAY) {
        this.#url = url;
        this.#delay = delay;
    }

    /** The reason why the trace doesn't arrive; `undefined` if it does. */
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

    /** The page is being closed. Posts no longer wait for a response. The browser may drop an open request, so its part is posted again. */
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
        // While a post is open, chunks gather for the next one.
        if (this.#timer !== undefined || this.#open.size > 0) return;
        this.#timer = setTimeout(() => {
            this.#timer = undefined;
            if (!this.#leaving && this.#waiting.length > 0) this.#post();
        }, this.#part === 0 ? 0 : this.#delay);
    }

    #post(): void {
        const max = this.#part === 0 ? MAX_FIRST : MAX_PART;
        let count = 0;
        for (let bytes = 0; count < this.#waiting.length && (count === 0 || bytes + this.#waiting[count]!.length <= max); count++) bytes += this.#waiting[count]!.length;
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

    /** Posts all waiting chunks when the page is closed: with `keepalive` if they fit, and otherwise in requests that the page stays for. */
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

    /** Posts a part once, without waiting for the response. */
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

/**
 * Blocks the thread. Meanwhile the browser's other processes send requests, and workers run. Browsers allow a closing page half a second.
 */
export function hold(milliseconds: number): void {
    for (const end = performance.now() + milliseconds; performance.now() < end; );
}
