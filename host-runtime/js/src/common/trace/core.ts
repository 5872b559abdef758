/** Makes the call tree, the report and the OTLP requests of a trace, by the Rust command's code (core/). */

import { engine } from '../engine.js';
import { RustModule } from '../rust-module.js';

/** Options for spans. Defaults are those of `kperf-wasm export --format otlp`. */
export interface SpanOptions {
    /** The seed of all ids. Default: made from the trace's header, so a trace that is sent again has the same ids. */
    seed?: number;
    /** Whether the whole run is one trace, instead of each call from the host. */
    per_run?: boolean;
    /** The parent of the spans. */
    parent?: { traceparent: string; tracestate?: string };
    /** Shorter calls, in nanoseconds, get no span. They are counted in the spans around them. */
    min_nanos?: number;
    /** The number of levels of calls that get spans. */
    max_depth?: number;
    /** The number of calls that get spans: the first ones. */
    max_spans?: number;
    /** `service.name`. Default: the module's name. */
    service_name?: string;
    /** More attributes of the resource. */
    attributes?: Record<string, string>;
    /** The maximum size of a request in bytes, before compression. */
    request_bytes?: number;
    /** The maximum number of spans in a request. */
    request_spans?: number;
}

/** The products to make of a trace. */
export interface CoreOptions {
    /** Makes OTLP requests. */
    spans?: SpanOptions;
    /** Grows the call tree. */
    tree?: boolean;
}

/** An `ExportTraceServiceRequest` in protobuf. */
export interface SpansRequest {
    body: Uint8Array<ArrayBuffer>;
    /** The number of its spans. */
    spans: number;
}

/** A function in `kperf-wasm report --format json`. Times are nanoseconds; with the clock `instructions` the keys end in `_instructions`. */
export interface ReportRow {
    id: number | null;
    name: string;
    calls: number;
    /** Set if its calls were only counted (`--leaf count`). Its times are `null`. */
    counted?: true;
    total_nanos: number | null;
    self_nanos: number | null;
    share: number | null;
    /** If times rest on samples or ticks: half the width of the share's 95 % confidence interval. */
    share_error?: number;
    average_nanos: number | null;
    /** `null` in a profile, which doesn't time calls one by one; so is the next. */
    min_nanos: number | null;
    max_nanos: number | null;
    unwound: number;
    unfinished: number;
    callers: { id: number | null; name: string; calls: number }[];
}

/** The part of `kperf-wasm report --format json` that reports show. */
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
        /** 0 if slow calls are not recorded. */
        span_min_nanos: number;
        spans: number;
        samples: number;
        /** The number of samples of equal weight with the same accuracy. */
        effective_samples: number;
        torn: number;
        cut: number;
        busy_nanos: number;
        idle_nanos: number;
    };
    /** Of a trace with a ticker: the distance of its ticks as one meets it by chance, and the number of equally distant ticks with the same error. */
    ticks?: {
        count: number;
        resolution_nanos: number | null;
        effective_samples: number;
    };
    functions: ReportRow[];
    warnings: string[];
}

/** A call tree in columns. Parents precede their children; the first node is the host. Times are nanoseconds, or instructions with that clock. */
export interface CallTree {
    /** Names, by the numbers in `function`. */
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
    kperf_report(compensate: number): number;
    kperf_tree(): number;
    kperf_encode(length: number): number;
}

const REQUEST = 2;
/** The most bytes that are given to the core at a time. */
const PIECE = 1 << 20;

/** Reads one trace, also while it is recorded. */
export class TraceCore {
    readonly #core: RustModule<CoreExports>;

    private constructor(core: RustModule<CoreExports>, options: CoreOptions) {
        this.#core = core;
        core.callWith(core.exports.kperf_open, options);
    }

    /** Begins a trace. `module` is the core. */
    static async open(module: WebAssembly.Module, options: CoreOptions): Promise<TraceCore> {
        return new TraceCore(new RustModule<CoreExports>(await engine.instantiate(module), 'kperf: '), options);
    }

    /** Takes the trace's next bytes. Throws if it isn't a trace. */
    push(bytes: Uint8Array): void {
        for (let at = 0; at < bytes.length; at += PIECE) this.#core.call(this.#core.exports.kperf_push, bytes.subarray(at, at + PIECE));
    }

    /** Marks the trace as complete. */
    end(): void {
        this.#core.check(this.#core.exports.kperf_end());
    }

    /** Full requests; after `end`, the rest. */
    *requests(): Generator<SpansRequest> {
        while (this.#core.check(this.#core.exports.kperf_next()) === REQUEST) yield this.#request();
    }

    /** A request of spans that don't fill one yet. */
    partial(): SpansRequest | undefined {
        return this.#core.check(this.#core.exports.kperf_partial()) === REQUEST ? this.#request() : undefined;
    }

    /** The report so far; with `compensate`, without the cost of probes. */
    report(compensate = false): Report {
        return JSON.parse(this.reportText(compensate)) as Report;
    }

    /** The report as text: the bytes that `kperf-wasm report --format json` writes. */
    reportText(compensate = false): string {
        this.#core.check(this.#core.exports.kperf_report(compensate ? 1 : 0));
        return this.#core.text();
    }

    /** The call tree so far. Open calls count as if they ended now. */
    tree(): CallTree {
        this.#core.check(this.#core.exports.kperf_tree());
        return JSON.parse(this.#core.text()) as CallTree;
    }

    #request(): SpansRequest {
        return { body: this.#core.output().slice(), spans: this.#core.exports.kperf_spans() };
    }
}
