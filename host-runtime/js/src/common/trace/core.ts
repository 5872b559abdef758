/** Makes the call tree, the report and the OTLP requests of a trace, by the same code as `kperf-wasm` (core/). */

import { engine } from '../engine.js';
import { RustModule } from '../rust-module.js';

/** What becomes a span, and how. What is left out has the default of `kperf-wasm export --format otlp`. */
export interface SpanOptions {
    /** The seed of all ids. If left out it is made from the trace's header, so that a trace that is sent twice has the same ids. */
    seed?: number;
    /** Whether the whole run is one trace, instead of each call from the host. */
    per_run?: boolean;
    /** The parent of the spans. */
    parent?: { traceparent: string; tracestate?: string };
    /** Calls that took less get no span, in nanoseconds. They are counted on the spans around them. */
    min_nanos?: number;
    /** How many levels of calls get spans. */
    max_depth?: number;
    /** At most so many calls get spans: those that begin first. */
    max_spans?: number;
    /** `service.name`; the module's name if left out. */
    service_name?: string;
    /** More attributes of the resource. */
    attributes?: Record<string, string>;
    /** How many bytes a request may have before compression. */
    request_bytes?: number;
    /** How many spans a request may have. */
    request_spans?: number;
}

/** What to make of a trace. */
export interface CoreOptions {
    /** Makes OTLP requests. */
    spans?: SpanOptions;
    /** Grows the call tree. */
    tree?: boolean;
}

/** An `ExportTraceServiceRequest` in protobuf. */
export interface SpansRequest {
    body: Uint8Array<ArrayBuffer>;
    /** How many spans are in it. */
    spans: number;
}

/** What became of the calls: `calls + run_spans == spans + elided`. */
export interface SpansAccount {
    calls: number;
    spans: number;
    run_spans: number;
    elided: number;
    requests: number;
    bytes: number;
}

/** A function, as `kperf-wasm report --format json` tells of it. Times are nanoseconds; where instructions are the clock the keys say so (`self_instructions`). */
export interface ReportRow {
    id: number | null;
    name: string;
    calls: number;
    /** Set if its calls were counted only (`--leaf count`). Its times are `null` then. */
    counted?: true;
    total_nanos: number | null;
    self_nanos: number | null;
    share: number | null;
    /** Of a profile: half the width of the interval that the share lies in with 95 % confidence. */
    share_error?: number;
    average_nanos: number | null;
    /** `null` in a profile, which doesn't time calls one by one; so is the next. */
    min_nanos: number | null;
    max_nanos: number | null;
    unwound: number;
    unfinished: number;
    callers: { id: number | null; name: string; calls: number }[];
}

/** What `kperf-wasm report --format json` says, as far as one would show it. */
export interface Report {
    /** Of a page: its address. */
    command: string[];
    outcome: string | null;
    wall_nanos: number;
    self_nanos: number;
    calls: number;
    /** Of a profile: its samples, and how long calls were open by them. */
    sampling?: {
        period_nanos: number;
        /** 0 if no calls are told one by one. */
        span_min_nanos: number;
        spans: number;
        samples: number;
        /** So many of equal weight would tell as much. */
        effective_samples: number;
        torn: number;
        cut: number;
        busy_nanos: number;
        idle_nanos: number;
    };
    functions: ReportRow[];
    warnings: string[];
}

/** A call tree in columns. Parents come before their children; the first node is the host. Times are nanoseconds, or instructions where these are the clock. */
export interface CallTree {
    /** The names that `function` has the numbers of. */
    names: string[];
    function: number[];
    parent: number[];
    calls: number[];
    total_nanos: number[];
    self_nanos: number[];
    outcome: string | null;
    wall_nanos: number;
}

/** What the core exports (core/src/exports.rs). */
export interface CoreExports {
    kperf_open(length: number): number;
    kperf_push(length: number): number;
    kperf_end(): number;
    kperf_next(): number;
    kperf_partial(): number;
    kperf_spans(): number;
    kperf_account(): number;
    kperf_report(compensate: number): number;
    kperf_tree(): number;
    kperf_encode(length: number): number;
}

const REQUEST = 2;
/** The instance's memory has room for a piece of this size; a long trace comes in several. */
const PIECE = 1 << 20;

/** Reads one trace, also while it is being recorded. */
export class TraceCore {
    readonly #core: RustModule<CoreExports>;

    /** `open` makes it. */
    private constructor(core: RustModule<CoreExports>, options: CoreOptions) {
        this.#core = core;
        core.callWith(core.exports.kperf_open, options);
    }

    /** Begins with a trace of which nothing is there yet. Wants the core's module. */
    static async open(module: WebAssembly.Module, options: CoreOptions): Promise<TraceCore> {
        return new TraceCore(new RustModule<CoreExports>(await engine.instantiate(module), 'kperf: '), options);
    }

    /** The trace's next bytes. Throws if it is no trace. */
    push(bytes: Uint8Array): void {
        for (let at = 0; at < bytes.length; at += PIECE) this.#core.call(this.#core.exports.kperf_push, bytes.subarray(at, at + PIECE));
    }

    /** The trace has no more. */
    end(): void {
        this.#core.check(this.#core.exports.kperf_end());
    }

    /** The requests that are full; after `end`, all that are left. */
    *requests(): Generator<SpansRequest> {
        while (this.#core.check(this.#core.exports.kperf_next()) === REQUEST) yield this.#request();
    }

    /** The spans that don't fill a request yet. */
    partial(): SpansRequest | undefined {
        return this.#core.check(this.#core.exports.kperf_partial()) === REQUEST ? this.#request() : undefined;
    }

    /** What became of the calls so far. */
    account(): SpansAccount {
        this.#core.check(this.#core.exports.kperf_account());
        return JSON.parse(this.#core.text()) as SpansAccount;
    }

    /** The report of what is there so far; with `compensate`, without what the probes cost. */
    report(compensate = false): Report {
        return JSON.parse(this.reportText(compensate)) as Report;
    }

    /** The report as text, byte for byte what `kperf-wasm report --format json` writes. */
    reportText(compensate = false): string {
        this.#core.check(this.#core.exports.kperf_report(compensate ? 1 : 0));
        return this.#core.text();
    }

    /** The call tree of what is there so far. Calls that are open count as if they ended now. */
    tree(): CallTree {
        this.#core.check(this.#core.exports.kperf_tree());
        return JSON.parse(this.#core.text()) as CallTree;
    }

    #request(): SpansRequest {
        return { body: this.#core.output().slice(), spans: this.#core.exports.kperf_spans() };
    }
}
