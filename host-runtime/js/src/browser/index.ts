/** Records in a page or its worker. */

import type { CommonOptions } from '../api.js';
import { anchorOf, artificialClock, clockInfo, measureResolution, parseClock, PERIOD_NANOS, threadClock, tickingClock, ticksOf } from '../common/clock/clock.js';
import { LocalOutput } from '../common/recorder/local-output.js';
import { isProfile, type SamplerLink } from '../common/profile/profile.js';
import { Recorder, type RecorderSettings } from '../common/recorder/recorder.js';
import { hasTicked, periodOn, stopTicker } from '../common/clock/ticker.js';
import { parseSampling } from '../common/profile/sampling.js';
import { Reason } from '../common/constants.js';
import type { ClockInfo, Header, Sink, Summary } from '../common/trace/trace.js';
import type { TimeSource } from '../common/recorder/lane.js';
import { browserOf, systemOf } from './host.js';
import { clockPlace, PageLink, type PageWorkers } from './joining.js';
import { MemorySink } from './memory-sink.js';
import { RingSink } from './ring.js';
import { PageSampler } from './sampler.js';
import { startTicker, tickerWorks, useTicker, whyNoTicker, type Started } from './ticker.js';

export * from '../api.js';
export { coreModule, openTrace } from './core.js';
export { MemorySink } from './memory-sink.js';
export { PostSink } from './post-sink.js';

/** How long a closing page waits for its workers, in milliseconds. */
const PATIENCE = 250;
/** Windows are short, because a page that is closed loses the sampler's last window. */
const WINDOW = '1s';

/** How to record. The default sink is a `MemorySink`; the ticker needs a page that is cross-origin isolated; windows are a second long by default. */
export type RecorderOptions = CommonOptions;

/** A recording of a page. */
export class PageRecorder extends Recorder {
    /** The destination of the trace. */
    readonly sink: Sink;
    readonly #clockReady: Promise<void>;
    readonly #output: LocalOutput;
    readonly #sampler: () => PageSampler | undefined;
    readonly #workers: PageWorkers | undefined;
    /** Adds or removes a worker's lane, for the ticker. */
    readonly change: Started['change'];

    /** Only `createRecorder` calls this. */
    constructor(output: LocalOutput, time: TimeSource, settings: RecorderSettings, sink: Sink, ready: Promise<void>, sampler: () => PageSampler | undefined, change: Started['change'], workers?: PageWorkers) {
        super(output, time, settings);
        this.#sampler = sampler;
        this.sink = sink;
        this.#clockReady = ready;
        this.#output = output;
        this.change = change;
        this.#workers = workers;
    }

    /** The sampler of this page and its workers. */
    get sampler(): PageSampler {
        this.startSampler();
        return this.#sampler()!;
    }

    /** Takes a worker's chunk. */
    readonly take = (chunk: Uint8Array): void => this.#output.chunk(chunk);

    /**
     * Fulfilled when the clock and any sampler run. Before that, each event reads the clock itself, and there are no samples.
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

    /** Passes this thread's events so far to the sink. */
    override flush(): void {
        super.flush();
        this.#workers?.read(this.take);
        this.#output.write();
        if (this.sink instanceof RingSink) this.sink.pass();
    }

    /** Ends the recording of a closing page, without waiting for our own workers. */
    leave(): void {
        for (const end = performance.now() + PATIENCE; this.#workers?.read(this.take) === false && performance.now() < end; );
        this.#endInstances();
        this.#sampler()?.leave();
        void this.end(Reason.Interrupted);
    }

    override async finish(outcome?: string): Promise<Summary> {
        this.#workers?.read(this.take);
        const ended = this.#endInstances();
        // (A closing page may not wait.)
        if (ended.length > 0) await Promise.all(ended);
        const summary = await super.finish(outcome);
        this.#sampler()?.stop();
        return summary;
    }

    /** Ends the workers' profiled instances. */
    #endInstances(): (void | Promise<void>)[] {
        return [...(this.#workers?.instances.values() ?? [])].map((instance) => this.sampler.end(instance));
    }

    /** The trace so far, if it is kept in memory. */
    blob(): Blob {
        const sink = this.#kept;
        if (!this.finished) this.flush();
        return sink.blob();
    }

    /** Lets the user save the trace as a file, if it is kept in memory. */
    async download(name = 'page.kperf'): Promise<void> {
        const sink = this.#kept;
        await this.finish();
        sink.download(name);
    }

    get #kept(): MemorySink {
        if (this.sink instanceof MemorySink) return this.sink;
        throw new Error('kperf: the trace is not kept in this page');
    }
}

/** See `RecorderSettings`. A page has room for some 100 memories, and a recorder's is one more for its instance. */
const MANY = 8;

/** Begins a recording in this thread. `joining` are its workers that record into its trace, or its link to the page whose trace it is. */
export function createRecorder(options: RecorderOptions = {}, joining?: PageWorkers | PageLink): PageRecorder {
    const link = joining instanceof PageLink ? joining : undefined;
    const workers = link ? undefined : (joining as PageWorkers | undefined);
    const shared = joining?.shared;
    const choice = parseClock(options.clock ?? 'auto');
    const made = artificialClock(choice);
    const clock = shared ? threadClock(performance.timeOrigin - shared.timeOrigin, made, clockPlace(shared)) : threadClock(0, made);
    const now = (): number => ticksOf(clock);
    const resolution = measureResolution(clock);
    const info = clockInfo(clock, resolution);
    let time: TimeSource = { kind: made === 'instructions' ? made : 'precise', now: clock.ticks, halt: clock.halt };
    let ticker: Started | undefined;
    let ready = Promise.resolve();
    if (choice.kind === 'ticker' && !tickerWorks()) throw new Error(`kperf: the ticker can't work: ${whyNoTicker()}; use the clock \`precise\``);
    if (choice.kind === 'ticker' || (choice.kind === 'auto' && options.record !== 'profile' && tickerWorks())) {
        const periodNanos = periodOn(navigator.hardwareConcurrency, choice.kind === 'ticker' ? choice.periodNanos : PERIOD_NANOS);
        const pace = { periodNanos, resolutionNanos: resolution };
        const started = link ? useTicker(clock, { memory: shared!.clock, ...pace }, (cell) => link.post({ cell }), () => undefined) : startTicker(clock, pace, shared?.clock);
        ticker = started;
        time = started.time;
        // A worker doesn't wait for its page.
        if (!link) ready = until(() => hasTicked(started.memory) || started.failed() !== undefined);
    }
    // Called when the trace begins or the recording ends. A ticker that doesn't run by then never will.
    const settled = (): ClockInfo => {
        if (!ticker) return info;
        const { memory, periodNanos, failed } = ticker;
        if (hasTicked(memory)) return tickingClock(info, periodNanos);
        stopTicker(memory);
        ticker = undefined;
        info.no_ticker = failed() ?? 'its worker had not started yet';
        console.warn(`kperf: there is no ticker, so every event reads the clock: ${info.no_ticker}`);
        return info;
    };
    const header: Header = {
        clock: info,
        anchor: anchorOf(clock),
        host: { ...browserOf(navigator.userAgent), os: systemOf(navigator.userAgent), arch: '', pid: 0 },
        command: [globalThis.location?.href ?? ''],
    };
    const sink = options.sink ?? new MemorySink();
    const anchor = made ? undefined : () => anchorOf(clock);
    // The trace's header names the clock, so it must be known first.
    const clockwork = { now, ticker: () => (link ? undefined : ticker), ...(link ? {} : { settled }), anchor };
    const output = new LocalOutput(sink, header, clockwork, (run) => void ready.then(() => setTimeout(run, 0)), shared?.numbers);
    const sampling = parseSampling({ every: WINDOW, ...options.sampling }, navigator.hardwareConcurrency);
    let sampler: PageSampler | undefined;
    const sample = (): SamplerLink => link?.sampler(now) ?? (sampler = new PageSampler(now, output, sampling));
    const recorder = new PageRecorder(output, time, { parent: options.parent, sampler: sample, isProfile: options.record === 'profile', now: made ? undefined : clock.now, many: MANY }, sink, ready, () => sampler, (cell) => ticker?.change(cell), workers);
    // The worker starts only when this thread rests. If it can't start, the first module that needs it throws.
    if (options.record === 'profile' && globalThis.crossOriginIsolated === true) recorder.startSampler();
    return recorder;
}

/** Fulfilled when the condition holds, or after five seconds. */
async function until(holds: () => boolean): Promise<void> {
    for (let n = 0; n < 1000 && !holds(); n++) await new Promise((resolve) => setTimeout(resolve, 5));
}
