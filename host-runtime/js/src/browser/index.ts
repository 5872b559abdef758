/** Recording in a page or a worker of it. */

import { probeCost } from '../common/calibrate.js';
import { anchorOf, measureResolution, parseClock, PERIOD_NANOS, threadClock, ticksOf } from '../common/clock.js';
import { LocalOutput } from '../common/local-output.js';
import type { AskParent } from '../common/parent.js';
import { isProfile } from '../common/profile.js';
import { Recorder, type RecorderSettings } from '../common/recorder.js';
import { tickerRuns } from '../common/ticker.js';
import { parseSampling, type SamplingOptions } from '../common/sampler.js';
import { Reason } from '../common/constants.js';
import type { ClockInfo, Header, Sink, Summary } from '../common/trace.js';
import type { TimeSource } from '../common/lane.js';
import { browserOf, systemOf } from './host.js';
import { MemorySink } from './memory-sink.js';
import { PageSampler } from './sampler.js';
import { setClock, startTicker, tickerWorks, whyNoTicker } from './ticker.js';

export { Recorder } from '../common/recorder.js';
export { TraceCore } from '../common/core.js';
export { coreModule, openTrace } from './core.js';
export type { CallTree, CoreOptions, Report, SpanOptions } from '../common/core.js';
export { MemorySink } from './memory-sink.js';
export { readSymbols, type Symbols } from '../common/symbols.js';
export { OtlpSink } from '../common/otlp-sink.js';
export type { OtlpOptions } from '../common/otlp-settings.js';
export type { AskParent, Parent } from '../common/parent.js';
export { PostSink } from './post-sink.js';
export type { Header, Sink, Summary } from '../common/trace.js';

/** A page may be closed at any moment, and what a sampler has not handed over by then is lost. */
const WINDOW = '1s';

/** How to record. */
export interface RecorderOptions {
    /** Where the trace goes; a `MemorySink` if left out. */
    sink?: Sink;
    /** `auto` (default: the ticker where the page is cross-origin isolated), `precise`, `ticker`, `ticker:PERIOD`, `test`. */
    clock?: string;
    /** Whose children the guest's calls are, asked when guests begin to run; the active span of `@opentelemetry/api` if left out. */
    parent?: AskParent;
    /** What the page's modules are there for: `trace` (default), or `profile`, which needs no ticker. */
    record?: 'trace' | 'profile';
    /** How instances are sampled that make a profile; windows of a second if nothing is said. */
    sampling?: SamplingOptions;
    /** Whether to measure what a probe costs, which takes some 30 ms. False by default. */
    calibrate?: boolean;
}

/** A recording of a page. */
export class PageRecorder extends Recorder {
    /** Where the trace goes. */
    readonly sink: Sink;
    readonly #clockReady: Promise<void>;
    readonly #output: LocalOutput;
    readonly #sampler: () => PageSampler | undefined;

    /** Called by `createRecorder`. */
    constructor(output: LocalOutput, time: TimeSource, settings: RecorderSettings, sink: Sink, ready: Promise<void>, sampler: () => PageSampler | undefined) {
        super(output, time, settings);
        this.#sampler = sampler;
        this.sink = sink;
        this.#clockReady = ready;
        this.#output = output;
    }

    /**
     * Fulfilled when the clock runs, and the sampler, if one is wanted: what is recorded before has the times of a ticker that
     * stands still, and no samples.
     */
    get ready(): Promise<void> {
        const sampler = this.#sampler();
        if (!sampler || sampler.isSettled) return this.#clockReady;
        return Promise.all([this.#clockReady, until(() => sampler.isSettled)]).then(() => undefined);
    }

    /** Fulfilled when a module can be recorded. */
    async prepare(module: WebAssembly.Module): Promise<void> {
        if (isProfile(module)) this.startSampler();
        await this.ready;
    }

    /** Gives the sink what this thread has recorded so far. */
    override flush(): void {
        super.flush();
        this.#output.write();
    }

    /** The page is being closed: what is known now is all that can be said. */
    leave(): void {
        this.#sampler()?.leave();
        void this.end(Reason.Interrupted);
    }

    override async finish(outcome?: string): Promise<Summary> {
        const summary = await super.finish(outcome);
        this.#sampler()?.stop();
        return summary;
    }

    /** The trace so far, where it is kept in memory. */
    blob(): Blob {
        if (!(this.sink instanceof MemorySink)) throw new Error('kperf: the trace is not kept in this page');
        if (!this.finished) this.flush();
        return this.sink.blob();
    }

    /** Offers the trace as a file, where it is kept in memory. */
    async download(name = 'page.kperf'): Promise<void> {
        if (!(this.sink instanceof MemorySink)) throw new Error('kperf: the trace is not kept in this page');
        await this.finish();
        this.sink.download(name);
    }
}

/** Begins a recording in this thread. */
export function createRecorder(options: RecorderOptions = {}): PageRecorder {
    const choice = parseClock(options.clock ?? 'auto');
    const clock = threadClock(0, choice.kind === 'test');
    const now = (): number => ticksOf(clock);
    const resolution = measureResolution(clock);
    const info: ClockInfo = { kind: 'precise', source: clock.source, ticks_per_second: 1e9, resolution_nanos: resolution };
    let time: TimeSource = { kind: 'precise', now: clock.ticks, halt: clock.halt };
    let memory: WebAssembly.Memory | undefined;
    let ready = Promise.resolve();
    if (choice.kind === 'ticker' && !tickerWorks()) throw new Error(`kperf: the ticker can't work: ${whyNoTicker()}; use the clock \`precise\``);
    if (choice.kind === 'ticker' || (choice.kind === 'auto' && options.record !== 'profile' && tickerWorks())) {
        const period = choice.kind === 'ticker' ? choice.periodNanos : PERIOD_NANOS;
        const ticker = startTicker(now(), period, resolution);
        memory = ticker.clock;
        time = ticker;
        ready = until(() => tickerRuns(ticker.clock) || ticker.failed());
        Object.assign(info, { kind: 'ticker', resolution_nanos: period, period_nanos: period });
    }
    const header: Header = {
        clock: info,
        anchor: anchorOf(clock),
        host: { ...browserOf(navigator.userAgent), os: systemOf(navigator.userAgent), arch: '', pid: 0 },
        command: [globalThis.location?.href ?? ''],
    };
    // A ticker may not run yet: what it says can't be measured then.
    const cost = (inlined: boolean): Header['probe_cost'] => (options.calibrate === true && !memory ? probeCost(time, clock.now, inlined) : undefined);
    const sink = options.sink ?? new MemorySink();
    const output = new LocalOutput(sink, header, { now, memory }, (run) => setTimeout(run, 0));
    const turn = memory && ((): void => {
        if (!tickerRuns(memory)) setClock(memory, now());
    });
    const sampling = parseSampling({ every: WINDOW, ...options.sampling });
    let sampler: PageSampler | undefined;
    const sample = (): PageSampler => (sampler = new PageSampler(now, output, sampling));
    const recorder = new PageRecorder(output, time, { turn, cost, parent: options.parent, sampler: sample }, sink, ready, () => sampler);
    // Its worker begins only when this thread rests. Where it can't, the first module that wants it is told.
    if (options.record === 'profile' && globalThis.crossOriginIsolated === true) recorder.startSampler();
    return recorder;
}

/** Fulfilled when something holds, or after five seconds in which it doesn't. */
async function until(holds: () => boolean): Promise<void> {
    for (let n = 0; n < 1000 && !holds(); n++) await new Promise((resolve) => setTimeout(resolve, 5));
}
