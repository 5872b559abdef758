/** Sends a trace as spans while it is recorded. */

import { TraceCore } from '../trace/core.js';
import { OtlpExporter } from './exporter.js';
import type { OtlpOptions } from './settings.js';
import type { Delivery, Sink } from '../trace/trace.js';

/** The default of `OtlpOptions.delay`. */
const DELAY = 1000;

export class OtlpSink implements Sink {
    readonly exporter: OtlpExporter;
    readonly #core: Promise<TraceCore>;
    readonly #delay: number;
    #ready: TraceCore | undefined;
    /** Chunks that came before the core. */
    #early: Uint8Array[] = [];
    #timer: ReturnType<typeof setTimeout> | undefined;
    #leaving = false;
    #failure: Error | undefined;

    /** `module` is the core. */
    constructor(module: Promise<WebAssembly.Module>, options: OtlpOptions = {}) {
        this.exporter = new OtlpExporter(options);
        this.#delay = options.delay ?? DELAY;
        this.#core = module.then((module) => TraceCore.open(module, { spans: options.spans ?? {} }));
        // (An invalid trace fails in `#begin`.)
        this.#core.then((core) => this.#begin(core)).catch((error: Error) => (this.#failure ??= error));
    }

    /** Why spans are not delivered; `undefined` if they are. */
    get trouble(): string | undefined {
        const why = this.#failure?.message ?? this.exporter.trouble;
        return why && `not all spans are delivered to ${this.exporter.url}: ${why}`;
    }

    chunk(bytes: Uint8Array): void {
        if (this.#failure) throw this.#failure;
        if (!this.#ready) this.#early.push(bytes);
        else this.#push(this.#ready, bytes);
    }

    async close(): Promise<void> {
        const core = await this.#core;
        this.#end(core);
        const delivery = await this.exporter.settled();
        if (this.#failure) throw this.#failure;
        const trouble = undelivered(delivery, this.exporter.url);
        if (trouble !== undefined) throw new Error(trouble);
    }

    /** Sends the rest without waiting, because the page is being closed: at most 64 KiB. */
    leave(): void {
        this.#leaving = true;
        this.exporter.leave();
    }

    #begin(core: TraceCore): void {
        this.#ready = core;
        for (const bytes of this.#early.splice(0)) this.#push(core, bytes);
    }

    #push(core: TraceCore, bytes: Uint8Array): void {
        try {
            core.push(bytes);
            this.#send(core);
        } catch (error) {
            this.#failure ??= error as Error;
            throw error;
        }
        this.#timer ??= setTimeout(() => {
            this.#timer = undefined;
            if (!this.#failure) this.#partial(core);
        }, this.#delay);
        if (typeof this.#timer === 'object') (this.#timer as NodeJS.Timeout).unref();
    }

    #end(core: TraceCore): void {
        clearTimeout(this.#timer);
        if (this.#leaving) this.#partial(core);
        core.end();
        this.#send(core);
    }

    #send(core: TraceCore): void {
        for (const request of core.requests()) {
            if (this.#leaving) this.exporter.sendLast(request);
            else this.exporter.send(request);
        }
    }

    #partial(core: TraceCore): void {
        const request = core.partial();
        if (request && this.#leaving) this.exporter.sendLast(request);
        else if (request) this.exporter.send(request);
    }
}

/** The message if spans were lost. */
export function undelivered({ attempted, acknowledged, failure }: Delivery, url: string): string | undefined {
    if (attempted === acknowledged) return undefined;
    return `kperf: ${attempted - acknowledged} of ${attempted} spans were not delivered to ${url}: ${failure ?? 'unknown'}`;
}
