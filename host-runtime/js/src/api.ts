/** The API that node and pages share. */

export { Recorder } from './common/recorder/recorder.js';
export { readSymbols, type Symbols } from './common/trace/symbols.js';
export { TraceCore } from './common/trace/core.js';
export type { CallTree, CoreOptions, Report, SpanOptions } from './common/trace/core.js';
export { OtlpSink } from './common/otlp/sink.js';
export type { OtlpOptions } from './common/otlp/settings.js';
export type { AskParent, Parent } from './common/trace/parent.js';
export type { SamplingOptions } from './common/profile/sampling.js';
export type { Delivery, Header, Sink, Summary } from './common/trace/trace.js';

import type { SamplingOptions } from './common/profile/sampling.js';
import type { AskParent } from './common/trace/parent.js';
import type { Sink } from './common/trace/trace.js';

/** How to record, on any host. */
export interface CommonOptions {
    /** Takes the trace, in this thread. */
    sink?: Sink;
    /** `auto` (default: the ticker if it works here), `precise`, `ticker`, `ticker:PERIOD`, `instructions`, `test`. */
    clock?: string;
    /** Returns the parent span of the guest's calls; called when guests begin to run. Default: the active span of `@opentelemetry/api`. */
    parent?: AskParent;
    /** `trace` (default), or `profile` if the program's modules make profiles, which need no ticker. Such modules are sampled in any case. */
    record?: 'trace' | 'profile';
    /** How profiled instances are sampled. */
    sampling?: SamplingOptions;
}
