/** Recording in node: `createRecorder`, and `joinRecorder` for worker threads. */

import { availableParallelism } from 'node:os';
import { basename, extname } from 'node:path';
import { BroadcastChannel, getEnvironmentData, isMainThread, setEnvironmentData, threadId, type Worker } from 'node:worker_threads';
import type { CommonOptions } from '../api.js';
import { Calibration } from '../common/recorder/calibrate.js';
import { anchorOf, artificialClock, clockInfo, measureResolution, parseClock, PERIOD_NANOS, threadClock, tickingClock, ticksOf, type Clock, type ArtificialClock } from '../common/clock/clock.js';
import { Reason } from '../common/constants.js';
import { hasMultiMemory, type TimeSource } from '../common/recorder/lane.js';
import { LocalOutput } from '../common/recorder/local-output.js';
import type { Output } from '../common/recorder/output.js';
import type { SamplerLink } from '../common/profile/profile.js';
import { Recorder } from '../common/recorder/recorder.js';
import { IS_NONE, IS_RUNNING, IS_STARTING, IS_WANTED, SamplerControl } from '../common/profile/sampler.js';
import { parseSampling, type Sampling } from '../common/profile/sampling.js';
import type { SharedLane } from '../common/recorder/shared-lane.js';
import { askForCells, clockMemory, forgetTicks, hasTicked, periodOn, stopTicker, waitForTicker, type CellChange, type Ticker } from '../common/clock/ticker.js';
import { TickerWatch } from '../common/clock/ticker-watch.js';
import type { Header, ProcessUsage } from '../common/trace/trace.js';
import { reasonOf } from '../common/warn.js';
import { RECORDER_ONE_MEMORY } from '../common/wasm-source.js';
import type { OtlpOptions } from '../common/otlp/settings.js';
import { broadcast } from './channel.js';
import { allowInlining, OwnWorker, unsupportedRuntime } from './engine.js';
import { followContexts } from './contexts.js';
import { Follower, type Followed, type FollowerData } from './follower.js';
import { Hub, Message } from './hub.js';
import { HubOutput } from './hub-output.js';
import { threadOffset, threadOrigin, watchPreempted } from './thread.js';
import { CountsAlone, endSampler, NodeSampler, waitForSampler } from './sampler.js';
import type { SamplerData } from './sampler-thread.js';
import type { LastLines } from './last-lines.js';
import type { SignalData } from './signal-thread.js';
import type { ProgramSignals } from './signals.js';
import { warn } from './warn.js';
import type { TickerData } from './ticker-thread.js';
import type { WriterData } from './writer-thread.js';

export * from '../api.js';
export { coreModule, openTrace } from './core.js';
export { otlpFromEnvironment } from '../common/otlp/settings.js';

/** How to record. A `sink` takes the trace instead of a file. */
export interface RecorderOptions extends CommonOptions {
    /** The trace's file, which a thread of its own writes. Default: `NAME.kperf` in the working directory, named after the program. */
    path?: string;
    /** Whether to measure the cost of a probe, in some 10 ms. Default: true, except with the test clock. */
    calibrate?: boolean;
    /** Sends the file as spans while it is written, in its own thread. Not with `sink`. */
    otlp?: OtlpOptions;
}

/** What other threads need to join. */
interface Recording {
    hub: WebAssembly.Memory;
    /** The ticker's memory; none if the clock is precise. */
    ticker?: Ticker;
    origin: number;
    artificial?: ArtificialClock | undefined;
    /** Whether to measure the cost of a probe. */
    calibrate: boolean;
    /** Whether it is a profile. */
    isProfile: boolean;
    process: number;
    sampling: Sampling;
    /** See `SamplerControl`. */
    sampler: SharedArrayBuffer;
    /** Shared with the thread that sends spans. */
    follower?: SharedArrayBuffer;
    /** The prefix of the recording's broadcast channels: see `channelOf`. */
    name: string;
}

const SHARED = 'kperf-wasm';
/** Our threads have few objects. Without a limit each keeps some 5 MB for new ones. */
const LIMITS = { maxYoungGenerationSizeMb: 3 };
/** Milliseconds that one of our threads may take to start. */
const THREAD_START = 5000;
/** Milliseconds that the program waits at most for the thread that watches signals. */
const SIGNAL_START = 3000;
/** Milliseconds that the thread that began the recording may take to start a sampler. */
const OWNER_PATIENCE = 500;
/** Milliseconds of retries before requests are dropped, because the program's end waits for them. */
const GIVE_UP = 10_000;
/** Milliseconds that sending may take at the program's end while the Collector takes spans. */
const FOLLOWER_PATIENCE = 120_000;
/** Milliseconds between flushes to a sink. */
const FLUSH = 1000;
/** The number of recordings that this thread has begun. */
let recordings = 0;
/** The first of these lanes wait until the ticker knows them, because their guests read the clock until then. Programs with more lanes make instances all the time, and don't wait. */
const AWAITED_CELLS = 8;
/** Milliseconds that the ticker may take to add a lane. It takes some 0.2. */
const TICK = 5;
/** The number of a thread's lanes to which the ticker writes the time. Each makes it slower, and takes a millisecond to add. */
const MAX_CELLS = 256;
/** The number of such lanes of this thread so far, and of those that have not ended. */
let cells = 0;
let liveCells = 0;

/** For a recording of the whole process, which signals end, too. */
interface WholeProcess {
    signals: ProgramSignals;
    lines: LastLines;
}

/** Begins a recording. Worker threads that are started later join it by `joinRecorder`. */
export function createRecorder(options: RecorderOptions = {}, whole?: WholeProcess): Recorder {
    const reason = unsupportedRuntime();
    if (reason !== undefined) throw new Error(`kperf: ${reason}`);
    const choice = parseClock(options.clock ?? 'auto');
    const artificial = artificialClock(choice);
    if (artificial === 'instructions' && options.otlp) throw new Error('kperf: the clock `instructions` has no times, which spans need; remove `otlp`');
    const test = artificial === 'test';
    const clock = threadClock(0, artificial);
    const origin = threadOrigin();
    const resolution = measureResolution(clock);
    const info = clockInfo(clock, resolution);
    const name = `kperf-${process.pid}-${threadId}-${recordings++}`;
    let ticker: Ticker | undefined;
    if (choice.kind === 'ticker' || (choice.kind === 'auto' && options.record !== 'profile')) {
        const periodNanos = periodOn(availableParallelism(), choice.kind === 'ticker' ? choice.periodNanos : PERIOD_NANOS);
        ticker = { memory: clockMemory(), periodNanos, resolutionNanos: resolution };
    }
    // Probes don't count as instructions.
    const calibrate = artificial !== 'instructions' && (options.calibrate ?? !test);
    const sampling = parseSampling(options.sampling ?? {}, availableParallelism());
    const sampler = new SamplerControl().buffer;
    const recording: Recording = { hub: new Hub().memory, ...(ticker && { ticker }), origin, artificial, calibrate, isProfile: options.record === 'profile', process: process.pid, sampling, sampler, ...(options.otlp && { follower: new Follower().buffer }), name };
    const header: Header = {
        clock: ticker ? tickingClock(info, ticker.periodNanos) : info,
        anchor: anchorOf(clock),
        host: { name: 'node', version: process.versions.node, os: process.platform, arch: process.arch, pid: process.pid },
        command: process.argv,
    };
    // Code that is measured later is optimized now, while threads start.
    let calibration = new Calibration(timeSource(recording, clock), clock);
    let isWarm = !calibrate || options.record === 'profile';
    const meanwhile: Meanwhile = (isDone) => {
        if (isWarm) return;
        isWarm = true;
        for (const inlined of hasMultiMemory ? [true, false] : [false]) calibration.warmUp(inlined, isDone);
    };
    const usage = new Usage();
    const watches = whole && !artificial && watchSignals(recording, whole);
    const output = openOutput(options, header, clock, recording, usage, meanwhile);
    // After the writer, which touches its memory: beside a spinning ticker that takes four times as long.
    if (ticker && !startTicker({ kperf: 'ticker', ...ticker, cells: channelOf(recording, 'cells'), origin }, meanwhile)) {
        if (choice.kind === 'ticker') throw new Error('kperf: the ticker did not start; use the clock `precise`');
        stopTicker(ticker.memory);
        delete recording.ticker;
        header.clock = { ...info, no_ticker: `its thread did not start within ${THREAD_START / 1000} s` };
        if (output instanceof HubOutput) output.clock(header.clock);
    }
    if (!options.sink) setEnvironmentData(SHARED, recording as unknown as Parameters<typeof setEnvironmentData>[1]);
    if (watches) whole.signals.waitForWatch(SIGNAL_START);
    const time = timeSource(recording, clock);
    if (!recording.ticker) calibration = new Calibration(time, clock);
    const sample = (): SamplerLink => (options.sink && !test ? refuseToSample() : startSampler(recording, clock, output, true));
    const recorder = new Recorder(output, time, { contexts: followContexts, parent: options.parent, cost: costOf(recording, calibration, clock, usage), opened: output instanceof HubOutput ? announce(recording, output) : undefined, sampler: sample, isProfile: recording.isProfile, now: recording.artificial ? undefined : clock.now, firstInlined: allowInlining });
    if (options.sink && !test) flushRegularly(recorder);
    return recorder;
}

/** A file's writer reads the lanes by itself. A sink gets full blocks, and every second the rest. */
function flushRegularly(recorder: Recorder): void {
    const timer = setInterval(() => (recorder.finished ? clearInterval(timer) : recorder.flush()), FLUSH);
    timer.unref();
}

/** Joins the recording of the thread that started this one; `undefined` if there is none. */
export function joinRecorder(): Recorder | undefined {
    if (isMainThread) return undefined;
    const recording = getEnvironmentData(SHARED) as unknown as Recording | undefined;
    if (!recording || recording.process !== process.pid) return undefined;
    const clock = threadClock(threadOffset(recording.origin), recording.artificial);
    const hub = new Hub(recording.hub);
    const time = timeSource(recording, clock);
    // The writer reads this thread's lanes if the thread is terminated, so it must run before they are announced.
    hub.waitForWriter(THREAD_START);
    const output = new HubOutput(hub);
    return new Recorder(output, time, { contexts: followContexts, cost: costOf(recording, new Calibration(time, clock), clock), opened: announce(recording, output), sampler: () => startSampler(recording, clock, output, false), isProfile: recording.isProfile, now: recording.artificial ? undefined : clock.now, firstInlined: allowInlining });
}

/** Adds a sentence to this process's recording, which reports of the trace show. */
export function addNote(sentence: string): void {
    const recording = getEnvironmentData(SHARED) as unknown as Recording;
    new Hub(recording.hub).send(Message.Note, 0, new TextEncoder().encode(sentence));
}

/** Hands over what this thread has recorded, when it ends. */
export function leaveRecorder(recorder: Recorder): void {
    const recording = getEnvironmentData(SHARED) as unknown as Recording;
    recorder.end(Reason.Exit);
    const output = new HubOutput(new Hub(recording.hub));
    for (const number of recorder.numbers) output.ended(number);
}

/** Announces lanes to the writer, and their memories to the queue. */
function announce(recording: Recording, output: HubOutput): (number: number, lane: SharedLane) => void {
    return (number, lane) => {
        output.adopt(lane.memory);
        broadcast(channelOf(recording, 'lanes'), { number, ...lane });
    };
}

/** Measures the cost of a probe, once per recording. */
function costOf(recording: Recording, calibration: Calibration, clock: Clock, usage?: Usage): (inlined: boolean) => Header['probe_cost'] {
    return (inlined) => {
        if (!new Hub(recording.hub).isFirst) return undefined;
        const cost = recording.calibrate ? calibration.cost(inlined) : undefined;
        if (cost && recording.ticker && isMainThread) forgetTicks(recording.ticker.memory, ticksOf(clock));
        // Without the recorder's own start.
        usage?.begin();
        return cost;
    };
}

/** Channels to the ticker, for memories to write the time to; to the writer and the sampler, for lanes and instances; to the first thread, to ask for a sampler. */
function channelOf({ name }: Recording, channel: 'cells' | 'lanes' | 'instances' | 'samplers'): string {
    return `${name}-${channel}`;
}

/** The default path of the trace, named after the program. */
export function defaultPath(): string {
    const program = process.argv[1] ?? 'node';
    return `${basename(program, extname(program))}.kperf`;
}

/** Works until a thread has started. */
type Meanwhile = (isDone: () => boolean) => void;

function openOutput(options: RecorderOptions, header: Header, clock: Clock, recording: Recording, usage: Usage, meanwhile: Meanwhile): Output {
    const now = (): number => ticksOf(clock);
    const anchor = recording.artificial ? undefined : () => anchorOf(clock);
    const clockwork = { now, ticker: () => recording.ticker, anchor, usage: recording.artificial === 'test' ? undefined : () => usage.read() };
    if (options.sink) return new LocalOutput(options.sink, header, clockwork);
    const hub = new Hub(recording.hub);
    const path = options.path ?? defaultPath();
    const follower = recording.follower && new Follower(recording.follower);
    const data: WriterData = { kperf: 'writer', hub: hub.memory, path, header, lanes: channelOf(recording, 'lanes'), origin: recording.origin, ...(follower && { follower: follower.buffer }) };
    const writer = startThread('./writer-thread.js', data);
    writer.on('exit', () => hub.gone());
    // A thread takes a processor while it starts. That should happen before the guest runs.
    meanwhile(() => hub.isHeard);
    hub.waitForWriter(THREAD_START);
    return new HubOutput(hub, clockwork, samplerOnRequest(recording), follower && startFollower(follower, path, options.otlp ?? {}));
}

/** The processor time of the process, and this thread's preemption, since a moment. */
class Usage {
    #began = process.cpuUsage();
    #preempted = watchPreempted();

    /** Sets the moment to now. */
    begin(): void {
        this.#began = process.cpuUsage();
        this.#preempted = watchPreempted();
    }

    read(): ProcessUsage {
        const { user, system } = process.cpuUsage(this.#began);
        const taken = this.#preempted();
        return { cpu_nanos: 1000 * (user + system), ...(taken && { preempted: taken }) };
    }
}

function timeSource(recording: Recording, clock: Clock): TimeSource {
    const { ticker } = recording;
    const { ticks: now, halt } = clock;
    if (!ticker) return { kind: clock.source === 'instructions' ? 'instructions' : 'precise', now, halt };
    const { memory } = ticker;
    return {
        kind: 'ticker',
        clock: memory,
        now,
        halt,
        watch: (cell) => new TickerWatch(ticker, cell, () => ticksOf(clock)),
        ...(!hasMultiMemory && { oneMemory: RECORDER_ONE_MEMORY }),
        add(cell) {
            // Further recorders ask the host for the time.
            if (liveCells >= MAX_CELLS) return () => undefined;
            liveCells++;
            const id = `${threadId}-${cells++}`;
            const change = (change: CellChange): void => {
                broadcast(channelOf(recording, 'cells'), change);
                askForCells(memory);
            };
            change({ id, memory: cell });
            if (cells <= AWAITED_CELLS) waitForTick(cell);
            return () => {
                liveCells--;
                change({ id });
            };
        },
    };
}

/** Waits until the ticker writes to a memory. */
function waitForTick(cell: WebAssembly.Memory): void {
    const words = new Int32Array(cell.buffer, 0, 16);
    const [before, begin] = [words[0], performance.now()];
    // The last of these words never changes, so this is a short sleep.
    while (words[0] === before && performance.now() - begin < TICK) Atomics.wait(words, 15, words[15]!, 0.05);
}

/** Returns whether the ticker has started. */
function startTicker(data: TickerData, meanwhile: Meanwhile): boolean {
    startThread('./ticker-thread.js', data);
    meanwhile(() => hasTicked(data.memory));
    return waitForTicker(data.memory, THREAD_START);
}

/** Connects to the sampler. A sampler ends with the thread that started it, so the thread that began the recording is asked to start it. */
function startSampler(recording: Recording, clock: Clock, output: Output, isOwner: boolean): SamplerLink {
    const now = (): number => ticksOf(clock);
    if (recording.artificial === 'test') return new CountsAlone(now, output, recording.sampling);
    const control = new SamplerControl(recording.sampler);
    if (!control.runs) {
        control.become(IS_NONE, IS_WANTED);
        if (!isOwner) {
            broadcast(channelOf(recording, 'samplers'));
            waitForSampler(control, OWNER_PATIENCE);
        }
        startSamplerThread(recording);
        waitForSampler(control, THREAD_START);
        // The starting thread may have been terminated.
        if (control.become(IS_STARTING, IS_WANTED)) {
            startSamplerThread(recording);
            waitForSampler(control, THREAD_START);
        }
        if (!control.runs) throw new Error('kperf: the sampler\'s thread did not start');
    }
    return new NodeSampler(now, control, (instance) => broadcast(channelOf(recording, 'instances'), instance));
}

/** Starts the sampler when another thread asks for it. Returns a function that ends the sampler. */
function samplerOnRequest(recording: Recording): () => void {
    const requests = new BroadcastChannel(channelOf(recording, 'samplers'));
    requests.onmessage = () => startSamplerThread(recording);
    requests.unref();
    return () => {
        requests.close();
        endSampler(new SamplerControl(recording.sampler));
    };
}

/** Starts the sampler if it is wanted. */
function startSamplerThread(recording: Recording): void {
    const { sampling, sampler, hub, origin } = recording;
    if (!new SamplerControl(sampler).become(IS_WANTED, IS_STARTING)) return;
    const data: SamplerData = { kperf: 'sampler', hub, control: sampler, instances: channelOf(recording, 'instances'), origin, sampling };
    // After an error, threads that end instances must not wait for it.
    startThread('./sampler-thread.js', data).on('error', () => new SamplerControl(sampler).become(IS_RUNNING, IS_NONE));
}

/** Starts the thread that ends the trace when a signal ends the process. Returns whether there is one. */
function watchSignals(recording: Recording, { signals, lines }: WholeProcess): boolean {
    if (process.platform === 'win32') return false;
    const { hub, origin, ticker, sampler, follower } = recording;
    const data: SignalData = { kperf: 'signals', hub, origin, sampler, signals: signals.buffer, lines, ...(ticker && { ticker }), ...(follower && { follower }) };
    try {
        startThread('./signal-thread.js', data, ['--expose-internals', '--no-warnings']);
        return true;
    } catch {
        // A host with node's parts, such as Electron, may refuse the flag. Then a signal ends the process at once.
        return false;
    }
}

function refuseToSample(): never {
    throw new Error('kperf: a profile needs a file: use `createRecorder({ path })`, not a sink');
}

/** Starts the thread that sends spans. */
function startFollower(follower: Follower, path: string, options: OtlpOptions): { finish(): Followed } {
    const giveUpAfter = options.giveUpAfter ?? GIVE_UP;
    const data: FollowerData = { kperf: 'follower', path, options: { ...options, giveUpAfter }, buffer: follower.buffer };
    startThread('./follower-thread.js', data).on('exit', () => follower.gone());
    return { finish: () => follower.finish(FOLLOWER_PATIENCE) };
}

/** Starts one of our threads. It doesn't keep the process alive, and has none of the program's flags. */
function startThread(file: string, data: TickerData | WriterData | FollowerData | SamplerData | SignalData, execArgv: string[] = []): Worker {
    const env = { ...process.env };
    delete env['NODE_OPTIONS'];
    const thread = new OwnWorker(new URL(file, import.meta.url), { workerData: data, execArgv, env, stdin: false, resourceLimits: LIMITS });
    // Without a listener the error would end the program.
    thread.on('error', (error) => warn(`a thread of the recorder failed (${data.kperf}), so the trace is incomplete: ${reasonOf(error)}`));
    thread.unref();
    return thread;
}
