/** Makes files, reports and spans of the parts of traces that pages post. */

import type { OtlpOptions } from '../../common/otlp/settings.js';
import { OtlpSink } from '../../common/otlp/sink.js';
import { reasonOf } from '../../common/warn.js';
import { coreModule } from '../core.js';
import { TraceFile, type Part } from './parts.js';
import { printPage } from './report.js';

/** The files, reports and spans of traces. */
export interface TraceSettings {
    folder: string;
    /** Files are named `NAME-1.kperf` and so on. */
    name: string;
    /** The Collector, if spans are sent. */
    otlp: OtlpOptions | undefined;
    /** The number of functions in a report, or 0 for all; `undefined`: no reports. */
    top: number | undefined;
    /** Takes a line for each trace that begins, and errors. */
    status: (line: string) => void;
}

/** The traces of all pages and workers so far. */
export class Traces {
    readonly #settings: TraceSettings;
    readonly #traces = new Map<string, Trace>();
    readonly #finishing = new Set<Promise<void>>();

    constructor(settings: TraceSettings) {
        this.#settings = settings;
    }

    /** Takes a part; a duplicate changes nothing. */
    take(part: Part): void {
        let trace = this.#traces.get(part.trace);
        if (!trace) this.#traces.set(part.trace, (trace = new Trace(this.#settings)));
        const { file, finish } = trace;
        // The page doesn't wait for the report.
        file.add(part, () => {
            const finished = finish().finally(() => this.#finishing.delete(finished));
            this.#finishing.add(finished);
        });
    }

    /** Ends and reports incomplete traces, and waits for all. */
    async stop(): Promise<void> {
        if (this.#settings.otlp && this.#traces.size > 0) this.#settings.status('waits until the spans are sent; another Ctrl-C ends it at once');
        await Promise.all(this.#finishing);
        for (const { file, finish } of this.#traces.values()) if (!file.isEnded) await finish();
    }
}

/** The trace of a page or a worker. */
class Trace {
    readonly file: TraceFile;
    readonly #top: number | undefined;
    readonly #status: (line: string) => void;
    #spans: OtlpSink | undefined;
    #spansFailure: string | undefined;

    constructor({ folder, name, otlp, top, status }: TraceSettings) {
        this.file = new TraceFile(folder, name);
        this.#top = top;
        this.#status = status;
        if (otlp) {
            this.#spans = new OtlpSink(coreModule(), otlp);
            this.file.onWrite = (bytes) => this.#send(bytes);
        }
        status(`${this.file.path}: a page records`);
    }

    /** Ends the file, prints its report, and waits until its spans are sent. */
    readonly finish = async (): Promise<void> => {
        const { file } = this;
        for (const line of file.end()) this.#status(line);
        if (file.isReadable && this.#top !== undefined) await printPage(file.path, this.#top).catch((error: unknown) => this.#status(`error: ${reasonOf(error)}`));
        const failure = await this.#spans?.close().then(() => this.#spansFailure, reasonOf);
        if (failure !== undefined) this.#status(`error: ${file.path}: ${failure}`);
        // Releases its instance of the core.
        this.#spans = undefined;
    };

    #send(bytes: Uint8Array): void {
        try {
            this.#spans?.chunk(bytes);
        } catch (error) {
            // The file is still written.
            this.#spansFailure ??= reasonOf(error);
        }
    }
}
