/** Recording in node: `createRecorder`, and what a worker thread joins. */

import { availableParallelism } from 'node:os';
import { basename, extname } from 'node:path';
import { BroadcastChannel, getEnvironmentData, isMainThread, setEnvironmentData, threadId, Worker } from 'node:worker_threads';
import { probeCost } from '../common/calibrate.js';
import { anchorOf, measureResolution, parseClock, PERIOD_NANOS, threadClock, ticksOf, type Clock } from '../common/clock.js';
import { Reason } from '../common/constants.js';
import { hasMultiMemory, type TimeSource } from '../common/lane.js';
import { LocalOutput } from '../common/local-output.js';
import type { Output } from '../common/output.js';
import type { SamplerLink } from '../common/profile.js';
import type { ProfiledInstance } from '../common/profiled-instance.js';
import { Recorder } from '../common/recorder.js';
import { IS_NONE, IS_STARTING, IS_WANTED, parseSampling, SamplerControl, type Sampling, type SamplingOptions } from '../common/sampler.js';
import type { SharedLane } from '../common/shared-lane.js';
import { askForCells, clockMemory, forgetStalls, waitForTicker, type CellChange } from '../common/ticker.js';
import type { ClockInfo, Header, Sink } from '../common/trace.js';
import { RECORDER_ONE_MEMORY } from '../common/wasm.js';
import type { OtlpOptions } from '../common/otlp-settings.js';
import type { AskParent } from '../common/parent.js';
import { allowInlining } from './engine.js';
import { Follower, type Followed, type FollowerData } from './follower.js';
import { Hub } from './hub.js';
import { HubOutput } from './hub-output.js';
import { threadOffset, threadOrigin } from './offset.js';
import { CountsAlone, endSampler, NodeSampler, waitForSampler } from './sampler.js';
import type { SamplerData } from './sampler-thread.js';
import type { TickerData } from './ticker-thread.js';
import type { AnnouncedLane, WriterData } from './writer-thread.js';

export { Recorder } from '../common/recorder.js';
export { readSymbols, type Symbols } from '../common/symbols.js';
export { TraceCore } from '../common/core.js';
export { coreModule, openTrace } from './core.js';
export type { CallTree, CoreOptions, Report, SpanOptions } from '../common/core.js';
export type { Delivery } from '../common/otlp-exporter.js';
export { otlpFromEnvironment, type OtlpOptions } from '../common/otlp-settings.js';
export { OtlpSink } from '../common/otlp-sink.js';
export type { AskParent, Parent } from '../common/parent.js';
export type { SamplingOptions } from '../common/sampler.js';
export type { Header, Sink, Summary } from '../common/trace.js';

/** How to record. */
export interface RecorderOptions {
    /** The trace's file, written by a thread of its own; `NAME.kperf` in the working directory, after the program, if left out. */
    path?: string;
    /** Where the trace goes instead of a file, in this thread. */
    sink?: Sink;
    /** `auto` (default: the ticker where there are two processors), `precise`, `ticker`, `ticker:PERIOD`, `test`. */
    clock?: string;
    /** Sends the file as spans while it is written, by a thread of its own. Not with `sink`. */
    otlp?: OtlpOptions;
    /** Whose children the guest's calls are, asked when guests begin to run; the active span of `@opentelemetry/api` if left out. */
    parent?: AskParent;
    /**
     * What the program's modules are there for: `trace` (default), or `profile`, which needs no ticker. Modules that make a
     * profile (`kperf-wasm rewrite --record profile`) are sampled in any case.
     */
    record?: 'trace' | 'profile';
    /** How instances are sampled that make a profile. */
    sampling?: SamplingOptions;
    /** Whether V8 may put more into one function where modules have their recorder inside (`--wasm-inlining-budget`, `.._factor`). True by default. */
    inlining?: boolean;
    /** Whether to measure what a probe costs; takes some ten milliseconds. True by default, but for the test clock. */
    calibrate?: boolean;
}

/** What other threads of the process need to join. */
interface Shared {
    hub: WebAssembly.Memory;
    /** The ticker's memory; none in a precise recording. */
    memory?: WebAssembly.Memory;
    origin: number;
    test: boolean;
    /** Whether to measure what a probe costs. */
    calibrate: boolean;
    process: number;
    /** See `RecorderOptions`. */
    inlining: boolean;
    /** How instances are sampled, and the thread that does it, if it runs. */
    sampling: Sampling;
    sampler: SharedArrayBuffer;
    channels: Channels;
}

/** Names of broadcast channels, of this recording alone. */
interface Channels {
    /** On which lanes tell the ticker of their memories, where they need to. */
    cells: string;
    /** On which threads tell the writer of their lanes. */
    lanes: string;
    /** On which they tell the sampler of instances that make a profile. */
    instances: string;
    /** On which they ask the thread that began the recording for a sampler. */
    samplers: string;
}

/** As it was when this was loaded: `register` wraps it later. */
const OwnWorker = Worker;

const SHARED = 'kperf-wasm';
/** Milliseconds that a thread of ours may take to start. */
const THREAD_START = 5000;
/** And the thread that began the recording, to begin with one: it may be busy. */
const OWNER_PATIENCE = 500;
/** Milliseconds after which a Collector that doesn't answer is given up: the program's end waits for it. */
const GIVE_UP = 10_000;
/** Milliseconds that all of the spans may take at the program's end, as long as the Collector takes them. */
const FOLLOWER_PATIENCE = 120_000;
/** How many recordings this thread began. */
let recordings = 0;
/** For so many of them it is waited until they have it; many more would be a program that makes instances all the time. */
const AWAITED_CELLS = 8;
/** Milliseconds that a ticker may take to hear of a lane; it takes some 0.2. */
const TICK = 5;
/** How many lanes of this thread had the time in a memory of their own. */
let cells = 0;

/** Begins a recording. In worker threads that the process starts after that, `joinRecorder` takes part. */
export function createRecorder(options: RecorderOptions = {}): Recorder {
    const choice = parseClock(options.clock ?? 'auto');
    const test = choice.kind === 'test';
    const clock = threadClock(0, test);
    const origin = threadOrigin();
    const resolution = measureResolution(clock);
    const info: ClockInfo = { kind: 'precise', source: clock.source, ticks_per_second: 1e9, resolution_nanos: resolution };
    const name = `kperf-${process.pid}-${threadId}-${recordings++}`;
    const channels: Channels = { cells: `${name}-cells`, lanes: `${name}-lanes`, instances: `${name}-instances`, samplers: `${name}-samplers` };
    let memory: WebAssembly.Memory | undefined;
    if (choice.kind === 'ticker' || (choice.kind === 'auto' && options.record !== 'profile' && availableParallelism() > 1)) {
        if (availableParallelism() < 2) throw new Error('kperf: the ticker needs a second processor; use the clock `precise`');
        const period = choice.kind === 'ticker' ? choice.periodNanos : PERIOD_NANOS;
        memory = clockMemory();
        Object.assign(info, { kind: 'ticker', resolution_nanos: period, period_nanos: period });
    }
    const calibrate = options.calibrate ?? !test;
    const sampling = parseSampling(options.sampling ?? {});
    const sampler = new SamplerControl().buffer;
    const shared: Shared = { hub: new Hub().memory, ...(memory && { memory }), origin, test, calibrate, process: process.pid, inlining: options.inlining ?? true, sampling, sampler, channels };
    const time = timeSource(shared, clock);
    const header: Header = {
        clock: info,
        anchor: anchorOf(clock),
        host: { name: 'node', version: process.versions.node, os: process.platform, arch: process.arch, pid: process.pid },
        command: process.argv,
    };
    const output = openOutput(options, header, clock, shared);
    // The writer takes memory, for which it would need four times as long beside a thread that spins.
    if (memory) startTicker({ kperf: 'ticker', memory, cells: channels.cells, origin, periodNanos: info.resolution_nanos, resolutionNanos: resolution });
    const sample = (): SamplerLink => (options.sink && !test ? refuseToSample() : startSampler(shared, clock, output, true));
    return new Recorder(output, time, { parent: options.parent, cost: costOf(shared, time, clock), opened: output instanceof HubOutput ? announce(shared, output) : undefined, sampler: sample, inside: insideOf(shared) });
}

/** Takes part in the recording of the thread that started this one; `undefined` where there is none. */
export function joinRecorder(): Recorder | undefined {
    if (isMainThread) return undefined;
    const shared = getEnvironmentData(SHARED) as unknown as Shared | undefined;
    if (!shared || shared.process !== process.pid) return undefined;
    const clock = threadClock(threadOffset(shared.origin), shared.test);
    const hub = new Hub(shared.hub);
    const time = timeSource(shared, clock);
    // This thread may be terminated at any moment: the writer then looks for itself. It hears only what is said when it runs.
    hub.waitForWriter(THREAD_START);
    const output = new HubOutput(hub);
    return new Recorder(output, time, { cost: costOf(shared, time, clock), opened: announce(shared, output), sampler: () => startSampler(shared, clock, output, false), inside: insideOf(shared) });
}

/** Hands over what this thread has recorded, when it ends. */
export function leaveRecorder(recorder: Recorder): void {
    const shared = getEnvironmentData(SHARED) as unknown as Shared;
    recorder.end(Reason.Exit);
    const output = new HubOutput(new Hub(shared.hub));
    for (const number of recorder.numbers) output.ended(number);
}

/** Tells the writer of lanes, which it may look into from here on, and the queue of the memories that blocks will come from. */
function announce({ channels }: Shared, output: HubOutput): (number: number, lane: SharedLane) => void {
    return (number, lane) => {
        output.adopt(lane.memory);
        tell(channels.lanes, { number, ...lane });
    };
}

function insideOf({ inlining }: Shared): (() => void) | undefined {
    return inlining ? allowInlining : undefined;
}

/** Measures what a probe costs, once in a recording. */
function costOf(shared: Shared, time: TimeSource, clock: Clock): (inlined: boolean) => Header['probe_cost'] {
    return (inlined) => {
        if (!shared.calibrate || !new Hub(shared.hub).isFirst) return undefined;
        const cost = probeCost(time, clock.now, inlined);
        if (shared.memory && isMainThread) forgetStalls(shared.memory);
        return cost;
    };
}

function tell(name: string, message?: CellChange | AnnouncedLane | ProfiledInstance): void {
    const channel = new BroadcastChannel(name);
    channel.postMessage(message);
    channel.close();
}

/** The trace's file if nobody says: after the program. */
export function defaultPath(): string {
    const program = process.argv[1] ?? 'node';
    return `${basename(program, extname(program))}.kperf`;
}

function openOutput(options: RecorderOptions, header: Header, clock: Clock, shared: Shared): Output {
    const now = (): number => ticksOf(clock);
    if (options.sink) return new LocalOutput(options.sink, header, { now, memory: shared.memory });
    const hub = new Hub(shared.hub);
    const path = options.path ?? defaultPath();
    const follower = options.otlp && new Follower();
    const data: WriterData = { kperf: 'writer', hub: hub.memory, path, header, lanes: shared.channels.lanes, ...(follower && { follower: follower.buffer }) };
    const writer = startThread('./writer-thread.js', data);
    writer.on('exit', () => hub.gone());
    // A thread that starts takes a processor for a while: better from us than from the guest.
    hub.waitForWriter(THREAD_START);
    setEnvironmentData(SHARED, shared as unknown as Parameters<typeof setEnvironmentData>[1]);
    return new HubOutput(hub, { now, memory: shared.memory }, samplerOnRequest(shared), follower && startFollower(follower, path, options.otlp ?? {}));
}

function timeSource(shared: Shared, clock: Clock): TimeSource {
    const { memory, channels } = shared;
    if (!memory) return { kind: 'precise', now: clock.ticks, halt: clock.halt };
    return {
        kind: 'ticker',
        clock: memory,
        ...(!hasMultiMemory && { oneMemory: RECORDER_ONE_MEMORY }),
        add(cell) {
            const id = `${threadId}-${cells++}`;
            const change = (change: CellChange): void => {
                tell(channels.cells, change);
                askForCells(memory);
            };
            change({ id, memory: cell });
            if (cells <= AWAITED_CELLS) waitForTick(cell);
            // It stood still on our behalf.
            if (isMainThread && new Hub(shared.hub).lanes <= 1) forgetStalls(memory);
            return () => change({ id });
        },
    };
}

/** Waits until the ticker has heard of a lane. */
function waitForTick(cell: WebAssembly.Memory): void {
    const words = new Int32Array(cell.buffer, 0, 16);
    const [before, begin] = [words[0], performance.now()];
    // Nobody writes the last of these words: that is the shortest sleep there is.
    while (words[0] === before && performance.now() - begin < TICK) Atomics.wait(words, 15, words[15]!, 0.05);
}

function startTicker(data: TickerData): void {
    startThread('./ticker-thread.js', data);
    if (!waitForTicker(data.memory, THREAD_START)) throw new Error('kperf: the ticker did not start; use the clock `precise`');
    forgetStalls(data.memory);
}

/** The way to the thread that samples. A thread that was started would end with this one: that which began the recording is asked first. */
function startSampler(shared: Shared, clock: Clock, output: Output, isOwner: boolean): SamplerLink {
    const now = (): number => ticksOf(clock);
    if (shared.test) return new CountsAlone(now, output, shared.sampling);
    const control = new SamplerControl(shared.sampler);
    if (!control.runs) {
        control.become(IS_NONE, IS_WANTED);
        if (!isOwner) {
            tell(shared.channels.samplers);
            waitForSampler(control, OWNER_PATIENCE);
        }
        startSamplerThread(shared);
        waitForSampler(control, THREAD_START);
        // Who was about to start it may have been terminated.
        if (control.become(IS_STARTING, IS_WANTED)) {
            startSamplerThread(shared);
            waitForSampler(control, THREAD_START);
        }
        if (!control.runs) throw new Error('kperf: the thread that samples did not start');
    }
    return new NodeSampler(now, control, (instance) => tell(shared.channels.instances, instance));
}

/** Starts the thread that samples when another thread asks for it; what ends it. */
function samplerOnRequest(shared: Shared): () => void {
    const requests = new BroadcastChannel(shared.channels.samplers);
    requests.onmessage = () => startSamplerThread(shared);
    requests.unref();
    return () => {
        requests.close();
        endSampler(new SamplerControl(shared.sampler));
    };
}

/** Starts the thread that samples, if it is wanted and nobody does. */
function startSamplerThread({ sampling, sampler, hub, origin, channels: { instances } }: Shared): void {
    if (!new SamplerControl(sampler).become(IS_WANTED, IS_STARTING)) return;
    const data: SamplerData = { kperf: 'sampler', hub, control: sampler, instances, origin, sampling };
    startThread('./sampler-thread.js', data);
}

function refuseToSample(): never {
    throw new Error('kperf: a module that makes a profile is recorded to a file: `createRecorder({ path })`, not with a sink');
}

/** Starts the thread that sends the file; what ends it and says what became of the spans. */
function startFollower(follower: Follower, path: string, options: OtlpOptions): { finish(): Followed } {
    const giveUpAfter = options.giveUpAfter ?? GIVE_UP;
    const data: FollowerData = { kperf: 'follower', path, options: { ...options, giveUpAfter }, buffer: follower.buffer };
    startThread('./follower-thread.js', data).on('exit', () => follower.gone());
    return { finish: () => follower.finish(FOLLOWER_PATIENCE) };
}

/** Starts a thread of ours. It keeps nobody alive, and nothing of the program's options reaches it. */
function startThread(file: string, data: TickerData | WriterData | FollowerData | SamplerData): Worker {
    const env = { ...process.env };
    delete env['NODE_OPTIONS'];
    const thread = new OwnWorker(new URL(file, import.meta.url), { workerData: data, execArgv: [], env, stdin: false });
    thread.unref();
    return thread;
}
