/** Sends span requests to a Collector in sequence, and counts the delivery. The next request is packed meanwhile. */

import type { SpansRequest } from '../trace/core.js';
import type { Delivery } from '../trace/trace.js';
import { readAnswer, type Answer } from './answer.js';
import { tracesUrl, type OtlpOptions } from './settings.js';

/** The maximum of bytes that wait to be sent. Requests over it are dropped and counted. */
const MAX_WAITING = 64 << 20;
/** The first and the longest wait before a retry, in milliseconds; each is twice the one before. */
const FIRST_WAIT = 1000;
const MAX_WAIT = 30_000;
/** The shortest, whatever the answer says: a Collector that answers `retry-after: 0` for minutes must not keep us busy. */
const SHORTEST_WAIT = 100;
/** When a page is closed, browsers send at most 64 KiB in all of its requests. */
const KEPT_ALIVE = 60_000;

const GIVEN_UP = 'the Collector failed';

type Bytes = Uint8Array<ArrayBuffer>;

/** What hosts do in their own ways. */
interface Host {
    /** Packs bytes, or returns `undefined` to send them as they are. */
    gzip: (bytes: Bytes) => Promise<Bytes | undefined>;
    /** Reads a response's body, or its beginning. The body ends where its connection breaks. */
    bodyOf: (response: Response) => Promise<Uint8Array>;
    /** Divides a request that is too large; `undefined` if it has one span. */
    halvesOf?: (request: SpansRequest) => SpansRequest[] | undefined;
}

const PAGE: Host = { gzip: gzipStream, bodyOf: async (response) => new Uint8Array((await response.arrayBuffer().catch(() => undefined))!) };

export class OtlpExporter {
    readonly delivery: Delivery = { attempted: 0, acknowledged: 0, rejected: 0, dropped: 0, requests: 0, retries: 0 };
    readonly url: string;
    /** Why the last request failed; `undefined` if it didn't. */
    trouble: string | undefined;
    readonly #options: OtlpOptions;
    readonly #host: Host;
    #queue = Promise.resolve();
    #before = this.#queue;
    #waiting = 0;
    /** Queued requests that are not being sent. */
    readonly #idle = new Set<SpansRequest>();
    #isLeaving = false;
    #keptAlive = 0;
    /** After it has given up, requests are dropped for as long as it had tried, until this moment. Then one is tried once. */
    #stoppedUntil = 0;

    constructor(options: OtlpOptions, host = PAGE) {
        this.#options = options;
        this.#host = host;
        this.url = tracesUrl(options);
    }

    /** Queues a request. */
    send(request: SpansRequest): void {
        this.delivery.attempted += request.spans;
        if (this.#waiting + request.body.length > MAX_WAITING) return this.#drop(request, 'too many spans wait to be sent');
        this.#waiting += request.body.length;
        this.#idle.add(request);
        // Packed while only the request before is being sent.
        const packed = this.#before.then(() => this.#pack(request));
        this.#before = this.#queue;
        this.#queue = this.#before.then(async () => {
            await this.#deliver(request, await packed);
            this.#waiting -= request.body.length;
        });
    }

    /** Fulfilled when all requests but the last are done. */
    room(): Promise<void> {
        return this.#before;
    }

    /** Fulfilled when all requests are done. */
    async settled(): Promise<Delivery> {
        for (let queue; queue !== this.#queue; ) await (queue = this.#queue);
        return this.delivery;
    }

    /** Sends everything immediately, because the page is being closed. */
    leave(): void {
        this.#isLeaving = true;
        for (const request of this.#idle) this.#sendLast(request);
    }

    /** Sends a request of a page that is being closed: once, without waiting. Drops it if it is too large for that. */
    sendLast(request: SpansRequest): void {
        this.delivery.attempted += request.spans;
        this.#sendLast(request);
    }

    #sendLast(request: SpansRequest): void {
        this.#keptAlive += request.body.length;
        if (this.#keptAlive > KEPT_ALIVE) {
            this.#drop(request, 'the page was closed');
            return;
        }
        // `sendBeacon` can't send headers.
        void fetch(this.url, { method: 'POST', headers: this.#headers(), body: request.body, keepalive: true }).catch(() => undefined);
    }

    async #deliver(request: SpansRequest, packed?: Bytes): Promise<void> {
        if (this.#isLeaving) return;
        this.#idle.delete(request);
        if (performance.now() < this.#stoppedUntil) return this.#drop(request, GIVEN_UP);
        const { giveUpAfter = 60_000 } = this.#options;
        const headers = this.#headers();
        if (packed) headers['content-encoding'] = 'gzip';
        const deadline = performance.now() + (this.#stoppedUntil ? 0 : giveUpAfter);
        for (let wait = FIRST_WAIT; ; wait = Math.min(2 * wait, MAX_WAIT)) {
            const answer = await this.#post(headers, packed ?? request.body);
            if (answer.kind === 'taken') {
                const { delivery } = this;
                // A server may count wrongly.
                const rejected = Math.min(answer.rejected, request.spans);
                this.#stoppedUntil = 0;
                delivery.requests++;
                delivery.acknowledged += request.spans - rejected;
                delivery.rejected += rejected;
                if (rejected > 0) delivery.failure ??= `it rejects ${rejected} spans: ${answer.message}`;
                this.trouble = rejected > 0 ? 'it rejects some spans' : undefined;
                return;
            }
            this.trouble = answer.message;
            // From half to one and a half, so that clients that failed together don't retry together.
            const pause = answer.kind === 'retry' ? Math.max(SHORTEST_WAIT, answer.after ?? wait * (0.5 + Math.random())) : 0;
            if (answer.kind === 'refused') {
                const halves = answer.isTooLarge && this.#host.halvesOf?.(request);
                if (!halves) return this.#drop(request, answer.message);
                for (const half of halves) await this.#deliver(half, await this.#pack(half));
                return;
            }
            if (performance.now() + pause > deadline) {
                this.#stoppedUntil = performance.now() + giveUpAfter;
                return this.#drop(request, `${answer.message}, for ${Math.round(giveUpAfter / 1000)} s`);
            }
            this.delivery.retries++;
            this.#idle.add(request);
            await new Promise((resolve) => setTimeout(resolve, pause));
            if (this.#isLeaving) return;
            this.#idle.delete(request);
        }
    }

    async #post(headers: Record<string, string>, body: Bytes): Promise<Answer> {
        try {
            const signal = AbortSignal.timeout(this.#options.timeout ?? 10_000);
            return await readAnswer(await fetch(this.url, { method: 'POST', headers, body, signal }), this.#host.bodyOf);
        } catch (error) {
            const cause = (error as Error).cause;
            return { kind: 'retry', message: cause instanceof Error ? cause.message || String((cause as NodeJS.ErrnoException).code) : String(error) };
        }
    }

    async #pack({ body }: SpansRequest): Promise<Bytes | undefined> {
        return this.#options.compression === 'none' ? undefined : this.#host.gzip(body).catch(() => undefined);
    }

    #headers(): Record<string, string> {
        return { 'content-type': 'application/x-protobuf', ...this.#options.headers };
    }

    #drop(request: SpansRequest, why: string): void {
        this.delivery.requests++;
        this.delivery.dropped += request.spans;
        this.delivery.failure ??= why;
    }
}

async function gzipStream(bytes: Bytes): Promise<Bytes> {
    const packed = new Blob([bytes]).stream().pipeThrough(new CompressionStream('gzip'));
    return new Uint8Array(await new Response(packed).arrayBuffer());
}
