/** Sends requests with spans to a Collector, one after the other, and counts what becomes of them. */

import type { SpansRequest } from './core.js';
import { readAnswer, type Answer } from './otlp-answer.js';
import { tracesUrl, type OtlpOptions } from './otlp-settings.js';

/** What became of the spans: `attempted == acknowledged + rejected + dropped` once all is done. */
export interface Delivery {
    /** Spans that were to be sent. */
    attempted: number;
    /** Spans that the Collector has. */
    acknowledged: number;
    /** Spans that the Collector refused in an answer that took the rest. */
    rejected: number;
    /** Spans that could not be delivered. */
    dropped: number;
    /** Requests that were answered or given up. */
    requests: number;
    /** How often a request was sent once more. */
    retries: number;
    /** The first thing that went wrong for good. */
    failure?: string;
}

/** So many bytes may wait to be sent; what comes when there are more is dropped, and counted. */
const MAX_WAITING = 64 << 20;
/** The first wait before a request is sent again, in milliseconds; then twice as long each time. */
const FIRST_WAIT = 1000;
const LONGEST_WAIT = 30_000;
/** What browsers send of a page that is closed is 64 KiB in all, of everything. */
const KEPT_ALIVE = 60_000;

/** Sends by `fetch`, which pages and node have. */
export class OtlpExporter {
    readonly delivery: Delivery = { attempted: 0, acknowledged: 0, rejected: 0, dropped: 0, requests: 0, retries: 0 };
    /** The address. */
    readonly url: string;
    readonly #options: OtlpOptions;
    #queue: Promise<void> = Promise.resolve();
    #waiting = 0;
    #keptAlive = 0;
    #stopped = false;

    constructor(options: OtlpOptions) {
        this.#options = options;
        this.url = tracesUrl(options);
    }

    /** Queues a request. */
    send(request: SpansRequest): void {
        this.delivery.attempted += request.spans;
        if (this.#stopped || this.#waiting + request.body.length > MAX_WAITING) {
            this.#drop(request, this.#stopped ? 'the Collector was given up' : 'more spans wait than can be kept');
            return;
        }
        this.#waiting += request.body.length;
        this.#queue = this.#queue.then(async () => {
            await this.#deliver(request);
            this.#waiting -= request.body.length;
        });
    }

    /** Fulfilled when all that was queued was delivered or given up. */
    async settled(): Promise<Delivery> {
        for (let queue; queue !== this.#queue; ) await (queue = this.#queue);
        return this.delivery;
    }

    /** Sends a request of a page that is being closed: once, and without waiting. What is too large for that is dropped. */
    sendLast(request: SpansRequest): void {
        this.delivery.attempted += request.spans;
        this.#keptAlive += request.body.length;
        if (this.#keptAlive > KEPT_ALIVE) {
            this.#drop(request, 'the page was closed');
            return;
        }
        // `fetch` with `keepalive`, not `sendBeacon`: that can't have headers.
        const { body } = request;
        void fetch(this.url, { method: 'POST', headers: this.#headers(), body, keepalive: true }).catch(() => undefined);
    }

    async #deliver(request: SpansRequest): Promise<void> {
        if (this.#stopped) return this.#drop(request, 'the Collector was given up');
        const { giveUpAfter = 60_000, compression = 'gzip' } = this.#options;
        const headers = this.#headers();
        let { body } = request;
        if (compression === 'gzip' && typeof CompressionStream === 'function') {
            body = await gzip(body);
            headers['content-encoding'] = 'gzip';
        }
        const deadline = performance.now() + giveUpAfter;
        for (let wait = FIRST_WAIT; ; wait = Math.min(2 * wait, LONGEST_WAIT)) {
            const answer = await this.#post(headers, body);
            if (answer.kind === 'taken') {
                this.delivery.requests++;
                this.delivery.acknowledged += request.spans - answer.rejected;
                this.delivery.rejected += answer.rejected;
                if (answer.rejected > 0) this.delivery.failure ??= `it rejects ${answer.rejected} spans: ${answer.message}`;
                return;
            }
            // Half of it to one and a half: those who were refused together shall not come back together.
            const pause = answer.kind === 'again' ? (answer.after ?? wait * (0.5 + Math.random())) : 0;
            if (answer.kind === 'refused') return this.#drop(request, answer.message);
            if (performance.now() + pause > deadline) {
                this.#stopped = true;
                return this.#drop(request, `${answer.message}, for ${Math.round(giveUpAfter / 1000)} s`);
            }
            this.delivery.retries++;
            await new Promise((resolve) => setTimeout(resolve, pause));
        }
    }

    async #post(headers: Record<string, string>, body: Uint8Array<ArrayBuffer>): Promise<Answer> {
        try {
            const signal = AbortSignal.timeout(this.#options.timeout ?? 10_000);
            return await readAnswer(await fetch(this.url, { method: 'POST', headers, body, signal }));
        } catch (error) {
            const cause = (error as Error).cause;
            return { kind: 'again', after: undefined, message: cause instanceof Error ? cause.message || String((cause as NodeJS.ErrnoException).code) : String(error) };
        }
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

async function gzip(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
    const packed = new Blob([bytes]).stream().pipeThrough(new CompressionStream('gzip'));
    return new Uint8Array(await new Response(packed).arrayBuffer());
}
