/** Takes the parts of traces that pages send, and makes files, reports and spans of them. */

import { closeSync, fstatSync, ftruncateSync, mkdirSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { OtlpOptions } from '../../common/otlp/settings.js';
import { OtlpSink } from '../../common/otlp/sink.js';
import { reasonOf } from '../../common/reason.js';
import { say } from '../cli-args.js';
import { coreModule } from '../core.js';
import { printPage } from './report.js';
import { create } from '../trace-file.js';
import { Refused } from './answer.js';

/** A part of a page's trace. */
export interface Part {
    /** The trace's random number, which the page chose. */
    trace: string;
    /** The part's number, from 0. */
    number: number;
    isLast: boolean;
    /** Of the last part: how many bytes the browser may not have sent when the page was closed. */
    unsent: number;
    /** Complete chunks of the trace. */
    bytes: Uint8Array;
}

/** What becomes of traces. */
export interface TraceSettings {
    folder: string;
    /** The files' name: `NAME-1.kperf` and so on. */
    name: string;
    /** Where spans go, if they are sent. */
    otlp: OtlpOptions | undefined;
    /** How many functions a report has. */
    top: number;
}

/** How many parts may wait for an earlier one, and how many bytes. More are refused; the page sends them again. */
const EARLY = 64;
const EARLY_BYTES = 512 << 20;
/** How long a trace that has its last part waits for those before it, in milliseconds. The page is closed and sends nothing again. */
const LATE = 3000;
/** That a part has no place now. */
const NO_ROOM = 507;

/** The traces of all pages and workers so far. */
export class Traces {
    readonly #settings: TraceSettings;
    readonly #traces = new Map<string, Trace>();
    readonly #finishing = new Set<Promise<void>>();

    constructor(settings: TraceSettings) {
        this.#settings = settings;
    }

    /** Takes a part. A part that was taken before changes nothing. */
    take(part: Part): void {
        let trace = this.#traces.get(part.trace);
        if (!trace) this.#traces.set(part.trace, (trace = new Trace(this.#settings)));
        const known = trace;
        known.add(part);
        // The page doesn't wait for the report.
        if (known.isWhole) this.#finish(known);
        else known.whenLate(() => this.#finish(known));
    }

    #finish(trace: Trace): void {
        const finished = trace.finish().finally(() => this.#finishing.delete(finished));
        this.#finishing.add(finished);
    }

    /** Ends and reports the traces that are not complete, and waits for all. */
    async stop(): Promise<void> {
        if (this.#settings.otlp && this.#traces.size > 0) say('waits until the spans are sent; Ctrl-C again ends it at once');
        await Promise.all(this.#finishing);
        for (const trace of this.#traces.values()) if (!trace.isEnded) await trace.finish();
    }
}

/** One of them. */
class Trace {
    isEnded = false;
    readonly #path: string;
    readonly #file: number;
    readonly #top: number;
    #spans: OtlpSink | undefined;
    #spansFailure: string | undefined;
    #next = 0;
    #last: number | undefined;
    #unsent = 0;
    #late: NodeJS.Timeout | undefined;
    readonly #early = new Map<number, Uint8Array>();

    /** Makes a file with the next free name. */
    constructor({ folder, name, otlp, top }: TraceSettings) {
        try {
            mkdirSync(folder, { recursive: true });
            for (let number = 1; ; number++) {
                const path = join(folder, `${name}-${number}.kperf`);
                const file = create(path);
                if (file === undefined) continue;
                [this.#path, this.#file] = [path, file];
                break;
            }
        } catch (error) {
            throw new Refused(NO_ROOM, `failed to create a trace in \`${folder}\`: ${reasonOf(error)}`);
        }
        this.#top = top;
        this.#spans = otlp && new OtlpSink(coreModule(), otlp);
        say(`${this.#path}: a page records`);
    }

    get isWhole(): boolean {
        return !this.isEnded && this.#last !== undefined && this.#next > this.#last;
    }

    add({ number, isLast, unsent, bytes }: Part): void {
        if (this.isEnded || number < this.#next) return;
        if (isLast) [this.#last, this.#unsent] = [number, unsent];
        const waiting = [...this.#early.values()].reduce((sum, { length }) => sum + length, 0);
        if (number !== this.#next && (this.#early.size >= EARLY || waiting + bytes.length > EARLY_BYTES)) {
            throw new Refused(NO_ROOM, `part ${this.#next} is missing, and too many later parts wait for it`);
        }
        this.#early.set(number, bytes);
        for (let next; (next = this.#early.get(this.#next)); this.#next++) {
            this.#write(next);
            this.#early.delete(this.#next);
        }
    }

    /** Calls `finish` when the last part is here and others don't come any more. */
    whenLate(finish: () => void): void {
        clearTimeout(this.#late);
        if (!this.isEnded && this.#last !== undefined) this.#late = setTimeout(finish, LATE);
    }

    /** Ends the file, prints its report, and waits until its spans are sent. */
    async finish(): Promise<void> {
        this.isEnded = true;
        clearTimeout(this.#late);
        const tell = (error: unknown): void => say(`error: ${reasonOf(error)}`);
        if (this.#next === 0) tell(`${this.#path}: its first part never came, so nothing of it can be read`);
        else {
            if (this.#early.size > 0) say(`warning: ${this.#path}: part ${this.#next} never came${this.#missing}`);
            try {
                // Those that wait for others. If some are missing, readers tell of a gap.
                for (const [, bytes] of [...this.#early].sort(([a], [b]) => a - b)) this.#write(bytes);
            } catch (error) {
                tell(error);
            }
        }
        closeSync(this.#file);
        this.#early.clear();
        if (this.#next > 0) await printPage(this.#path, this.#top).catch(tell);
        const failure = await this.#spans?.close().then(() => this.#spansFailure, reasonOf);
        if (failure !== undefined) tell(`${this.#path}: ${failure}`);
        // It has an instance of the core.
        this.#spans = undefined;
    }

    get #missing(): string {
        return this.#unsent > 0 ? `; up to ${this.#unsent} bytes are missing, since browsers promise to send 64 KiB of a page that is closed` : '';
    }

    /** All of it, or nothing: the page posts again what wasn't taken. */
    #write(bytes: Uint8Array): void {
        const before = fstatSync(this.#file).size;
        try {
            for (let at = 0; at < bytes.length; ) at += writeSync(this.#file, bytes, at, bytes.length - at, before + at);
        } catch (error) {
            ftruncateSync(this.#file, before);
            throw new Refused(NO_ROOM, `failed to write \`${this.#path}\`: ${reasonOf(error)}`);
        }
        try {
            this.#spans?.chunk(bytes);
        } catch (error) {
            // The file goes on without spans.
            this.#spansFailure ??= reasonOf(error);
        }
    }
}
