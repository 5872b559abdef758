/** Samples profiled instances, in a thread of its own. host-runtime/wasmtime/src/profile does the same. */

import { Reason, SHADOW_SLOTS, SHADOW_STACK } from '../constants.js';
import { Counts, type ProfiledInstance } from './counts.js';
import { instantiate } from '../instantiate.js';
import { SpanWriter } from './span-writer.js';
import { HOST, SampleTree } from './sample-tree.js';
import { ParentReader } from './parent-cell.js';
import type { Sampling } from './sampling.js';
import { LOOK } from '../wasm-source.js';
import { memoryIsFree } from '../clock/ticker.js';
import { encodeWindow } from '../trace/window.js';

/**
 * Words of an instance's control. `CONTROL_UNWOUND` is twice the number of unwinds, and odd while one is being written. Three words describe
 * the unwinds that the sampler hasn't taken (up to `CONTROL_TAKEN`): the minimum depth, the reason, and the number of calls that were open
 * at the first of them. Deeper calls had returned.
 */
export const CONTROL_UNWOUND = 0;
export const CONTROL_DEPTH = 1;
export const CONTROL_REASON = 2;
export const CONTROL_TAKEN = 3;
/** Set to the reason plus one to end the instance: the sampler closes its open calls and stops sampling it. */
export const CONTROL_END = 4;
/** 1 when the instance has ended. */
export const CONTROL_ENDED = 5;
export const CONTROL_OPEN = 6;
export const CONTROL_BYTES = 32;

/** Takes a sampler's results. */
export interface SampleOutput {
    /** Takes a window: the body of a `PROF`, and each function's calls until its end. */
    window(number: number, body: Uint8Array, counted: Float64Array, endTicks: number): void;
    /** Takes a block of slow calls; the bytes are only borrowed. */
    span(number: number, block: Uint8Array): void;
    /** Takes the parent of calls in later blocks: the payload of a `PRNT`. */
    parent(number: number, payload: Uint8Array): void;
    /** The last call for this instance. */
    ended(number: number): void;
}

/** The default length of the first window, in nanoseconds, and of all windows in a page, which may be closed at any time. */
const FIRST_WINDOW = 1e9;

interface LookExports {
    memory: WebAssembly.Memory;
    look: () => number;
    path: { value: number };
    depth: { value: number };
    same: { readonly value: number };
}

function lookerAt(memory: WebAssembly.Memory): { exports: LookExports; slots: Uint32Array } {
    const exports = instantiate<LookExports>(LOOK, { js: { memory } });
    return { exports, slots: new Uint32Array(exports.memory.buffer) };
}

/** Bytes of a stack, and readings of it, after which an engine compiles the reading well. */
const WARM = [4096, 300] as const;

/**
 * Makes the engine compile the reading of stacks well, which takes it 0.3 s of samples otherwise. A slow reading must be repeated more often
 * where calls end sooner, so samples show long calls too often.
 */
export function warmUp(): void {
    const memory = new WebAssembly.Memory({ initial: 17, maximum: 17, shared: true });
    new Uint8Array(memory.buffer, SHADOW_STACK, WARM[0]).fill(1);
    const { look } = lookerAt(memory).exports;
    for (let n = 0; n < WARM[1]; n++) look();
}

/** A call that was open in the last sample. */
interface OpenCall {
    func: number;
    hasSerial: boolean;
    /** The call's path, or its caller's if the tree has no room for it. */
    node: number;
    cut: boolean;
    /** The call's estimated beginning: halfway between the first sample with it and the sample before. */
    start: number;
    /** The parent span of an outermost call. */
    parent: Uint8Array | undefined;
}

/** The sampler's side of one instance. */
export class Profiled {
    readonly number: number;
    readonly #counts: Counts;
    readonly #sampling: Sampling;
    readonly #take: SampleOutput;
    readonly #control: Int32Array;
    /** The first words of the instance's memory. */
    readonly #front: Int32Array;
    readonly #memory: WebAssembly.Memory;
    /** Reads the stack, and the memory that it reads it to. Dropped while the instance rests: engines have room for some thousands. */
    #look: { exports: LookExports; slots: Uint32Array } | undefined;
    readonly #tree = new SampleTree();
    readonly #spans: SpanWriter;
    readonly #parentReader: ParentReader;
    /** The parent of new calls, and the last parent in the trace. */
    #parent: Uint8Array | undefined;
    #writtenParent: Uint8Array | undefined;
    /** The open calls, the outermost first, and how many of them are written. Outer calls last longer, so these are the first. */
    readonly #open: OpenCall[] = [];
    #written = 0;
    /** Each function's calls before the window. */
    readonly #counted: Float64Array;
    /** The number of switches that the sampler has taken. */
    #switches = 0;
    #start: number;
    /** The time of the last sample that was not torn. */
    #last: number;
    /** The time of the last sample with an open call, and its path. */
    #busy: number;
    #found = HOST;
    /** The time that a call found after a rest got immediately, and the time that it gets if it ends soon. */
    #half = 0;
    #owed = 0;
    #length: number;
    #samples = 0;
    #torn = 0;
    #cut = 0;
    #idle = 0;
    #squares = 0;

    constructor(instance: ProfiledInstance, sampling: Sampling, take: SampleOutput) {
        this.number = instance.number;
        this.#counts = new Counts(instance);
        this.#sampling = sampling;
        this.#take = take;
        this.#control = new Int32Array(instance.control);
        this.#memory = instance.memory;
        this.#front = new Int32Array(instance.memory.buffer, 0, SHADOW_STACK / 4 + 1);
        this.#spans = new SpanWriter(instance.begun, (block) => take.span(instance.number, block));
        this.#parentReader = new ParentReader(instance.parent);
        this.#counted = new Float64Array(instance.functions);
        this.#start = this.#last = this.#busy = instance.begun;
        this.#length = sampling.everyNanos ?? FIRST_WINDOW;
    }

    /** Whether it needs fewer samples: no call was open for a while, or it is switched off. */
    get isResting(): boolean {
        return !this.#isOn || this.#last - this.#busy >= REST_AFTER;
    }

    /** Takes a sample. `clock` reads the time, in ticks. Returns false if the instance has ended. */
    sample(clock: () => number): boolean {
        // Read before the sample, so that calls that are open at the end are in it.
        const end = Atomics.load(this.#control, CONTROL_END);
        this.#takeSwitches();
        if (this.#isOn) this.#sample(clock);
        if (end !== 0) {
            this.close((end - 1) as Reason, clock());
            memoryIsFree();
        }
        return end === 0;
    }

    get #isOn(): boolean {
        return this.#switches % 2 === 0;
    }

    /** Ends or begins a window after a switch. Calls while it is off are in no window. */
    #takeSwitches(): void {
        const { switches, switchedAt } = this.#counts;
        if (switches === this.#switches) return;
        // It was still on at the last sample.
        const now = Math.max(switchedAt, this.#last);
        const wasOn = this.#isOn;
        this.#switches = switches;
        if (wasOn) this.#unwind(0, now, Reason.Unfinished);
        else this.#start = now;
        // If it was on and off again since then, its calls are in the counts.
        if (wasOn || !this.#isOn) this.#endWindow(now);
        this.#last = now;
    }

    #sample(clock: () => number): void {
        const isWhole = this.#takeUnwound(clock) && this.#lookBetween();
        const now = clock();
        if (!isWhole) {
            // The next sample gets this one's time.
            this.#torn++;
            return;
        }
        const elapsed = Math.max(0, now - this.#last);
        const middle = this.#last + Math.floor(elapsed / 2);
        // A resting instance is sampled less often. A long turn that is found has lasted for half of the time since the sample before, on
        // average. A short turn is found in proportion to its length, so it gets all of that time in the end.
        const rested = this.isResting;
        const ran = rested ? now - middle : elapsed;
        this.#last = now;
        this.#parent = this.#parentReader.read() ?? this.#parent;
        const same = this.#update(middle);
        this.#writeSlow(same, now);
        this.#samples++;
        const last = this.#open.at(-1);
        if (this.#open.length >= SHADOW_SLOTS || last?.cut === true) this.#cut++;
        if (last) {
            if (rested) this.#half = this.#owed = elapsed - ran;
            else this.#owed = Math.max(0, this.#owed - elapsed);
            this.#busy = now;
            this.#found = last.node;
            this.#tree.add(last.node, ran);
            this.#idle += elapsed - ran;
            this.#squares += ran * ran;
        } else {
            this.#pay();
            this.#idle += elapsed;
        }
        if (this.isResting) this.#look = undefined;
        if (now - this.#start >= this.#length) {
            if (this.#sampling.everyNanos === undefined) this.#length *= 2;
            this.#endWindow(now);
        }
    }

    /** No call is open any more: the call that was found after a rest gets the rest of its time. */
    #pay(): void {
        const owed = this.#owed;
        if (owed === 0) return;
        this.#tree.add(this.#found, owed, 0);
        this.#idle -= owed;
        this.#squares += owed * (owed + 2 * this.#half);
        this.#owed = 0;
    }

    /** Takes unwinds. Returns false while one is being written. */
    #takeUnwound(clock: () => number): boolean {
        const control = this.#control;
        const unwound = Atomics.load(control, CONTROL_UNWOUND);
        if (unwound === control[CONTROL_TAKEN]) return true;
        const [open, depth, reason] = [control[CONTROL_OPEN]!, control[CONTROL_DEPTH]!, control[CONTROL_REASON] as Reason];
        if ((unwound & 1) === 1 || Atomics.load(control, CONTROL_UNWOUND) !== unwound) return false;
        const now = clock();
        this.#leave(open, now);
        this.#unwind(depth, now, reason);
        Atomics.store(control, CONTROL_TAKEN, unwound);
        return true;
    }

    /** Reads the open calls. Returns false if that failed, or if calls were unwound meanwhile: they have not returned. */
    #lookBetween(): boolean {
        if (!this.#look && Atomics.load(this.#front, SHADOW_STACK / 4) === 0) return true;
        try {
            this.#look ??= lookerAt(this.#memory);
        } catch {
            // Out of memory. A later sample may succeed.
            return false;
        }
        const { look, path, depth } = this.#look.exports;
        const last = [path.value, depth.value] as const;
        if (look() === 0) return false;
        if (Atomics.load(this.#control, CONTROL_UNWOUND) === this.#control[CONTROL_TAKEN]) return true;
        [path.value, depth.value] = last;
        return false;
    }

    /** Closes open calls, and writes the rest. */
    close(reason: Reason, now: number): void {
        this.#spans.close(now, reason, 0);
        if (this.#isOn) this.#endWindow(now);
        this.#take.ended(this.number);
        Atomics.store(this.#control, CONTROL_ENDED, 1);
        Atomics.notify(this.#control, CONTROL_ENDED);
    }

    /** Takes over a sample's calls. Changes count as halfway between two samples. Returns the number of unchanged calls. */
    #update(middle: number): number {
        if (!this.#look) return 0;
        const { exports, slots } = this.#look;
        const same = Math.min(exports.same.value, this.#open.length);
        this.#leave(same, middle);
        this.#open.length = same;
        const depth = exports.depth.value;
        for (let n = same, at = exports.path.value / 4 + 2 * same; n < depth; n++, at += 2) this.#push(slots[at]! - 1, slots[at + 1] !== 0, middle);
        return same;
    }

    /** Writes the returns of deeper calls. */
    #leave(depth: number, now: number): void {
        for (; this.#written > depth; this.#written--) this.#spans.leave(now);
    }

    #push(func: number, hasSerial: boolean, start: number, parent = this.#parent): void {
        const around = this.#open.at(-1);
        const path = around ? around.node : HOST;
        const child = around?.cut === true ? undefined : this.#tree.child(path, func);
        this.#open.push({ func, hasSerial, node: child ?? path, cut: child === undefined, start, parent });
    }

    /** Writes the calls that lasted long enough, of the first `same`, which were in two samples. */
    #writeSlow(same: number, now: number): void {
        const least = this.#sampling.spanMinNanos;
        if (least === undefined) return;
        for (; this.#written < same; this.#written++) {
            const { func, hasSerial, start, parent } = this.#open[this.#written]!;
            if (!hasSerial || now - start < least) return;
            if (this.#written === 0) this.#writeParent(parent);
            this.#spans.enter(start, func);
        }
    }

    /** Writes the parent of the outermost call that is written next. */
    #writeParent(parent: Uint8Array | undefined): void {
        if (!parent || parent === this.#writtenParent) return;
        this.#spans.flush();
        this.#take.parent(this.number, parent);
        this.#writtenParent = parent;
    }

    /** Closes unwound calls. */
    #unwind(depth: number, now: number, reason: Reason): void {
        if (this.#open.length > depth) this.#open.length = depth;
        this.#spans.close(now, reason, depth);
        this.#written = Math.min(this.#written, depth);
    }

    /** Writes the window, and begins the next. */
    #endWindow(now: number): void {
        const { periodNanos, spanMinNanos = 0 } = this.#sampling;
        const calls = this.#counts.since(this.#counted);
        const body = encodeWindow({
            startTicks: this.#start, endTicks: now, periodNanos, spanMinNanos, samples: this.#samples, torn: this.#torn, cut: this.#cut,
            idleTicks: this.#idle, squares: this.#squares, nodes: this.#tree.take(), calls,
        });
        this.#start = now;
        this.#samples = this.#torn = this.#cut = this.#idle = this.#squares = 0;
        // The tree is empty now.
        this.#owed = 0;
        for (const { func, hasSerial, start, parent } of this.#open.splice(0)) this.#push(func, hasSerial, start, parent);
        this.#spans.flush();
        this.#take.window(this.number, body, this.#counted, now);
    }
}

/** Words that guests' threads share with the sampler's: the number of messages sent, a request to stop, and a request to sample now. */
const MESSAGES = 0, STOP = 1, WAKE = 2;
/** A request to sample all instances, or one: this plus its number. */
const ALL = 1, ONE = 2;
/** The sampler's states: not started; running; wanted; being started. */
export const STATE = 3, IS_NONE = 0, IS_RUNNING = 1, IS_WANTED = 2, IS_STARTING = 3;
/** Length of these words in bytes. */
export const SAMPLER_BYTES = 16;
/** The longest sleep in milliseconds. */
const REST = 1000;
/** An instance without open calls rests after this time, in nanoseconds. */
const REST_AFTER = 100e6;
/** Periods between samples of resting instances. Waking a thread costs up to 40 us of a processor (on a virtual machine). */
const REST_PERIODS = 10;
/** Sampling resting instances takes at most this part of the time. */
const REST_PART = 0.05;

/** The loop of a sampler's thread. */
export class SamplerLoop {
    readonly #words: Int32Array;
    readonly #sampling: Sampling;
    readonly #clock: () => number;
    readonly #take: SampleOutput;
    /** Instances by their numbers. */
    readonly #awake = new Map<number, Profiled>();
    readonly #resting = new Map<number, Profiled>();
    /** When resting instances are sampled next. */
    #restDue = 0;
    #received = 0;

    /** `clock` reads the time, in ticks. */
    constructor(control: SharedArrayBuffer, sampling: Sampling, clock: () => number, take: SampleOutput) {
        this.#words = new Int32Array(control);
        this.#sampling = sampling;
        this.#clock = clock;
        this.#take = take;
        Atomics.store(this.#words, STATE, IS_RUNNING);
        Atomics.notify(this.#words, STATE);
    }

    /** Starts to sample an instance, which a message brought. */
    add(instance: ProfiledInstance): void {
        this.#received++;
        this.#awake.set(instance.number, new Profiled(instance, this.#sampling, this.#take));
    }

    /** The number of messages sent to this sampler or to an earlier one. */
    get announced(): number {
        return Atomics.load(this.#words, MESSAGES);
    }

    /** Notes that the first `messages` have come, or never will. */
    hasReceived(messages: number): void {
        this.#received = messages;
    }

    /** Whether messages are on their way. */
    get isBehind(): boolean {
        return this.#received < this.announced;
    }

    /** Samples until messages are on their way. Returns false at the end. */
    run(): boolean {
        const [words, clock, { periodNanos }] = [this.#words, this.#clock, this.#sampling];
        // At equal distances samples would find a program that repeats itself again and again at the same places. A late one doesn't delay
        // the others, and the sample after missed ones gets their time.
        for (let due = clock() + periodNanos; ; ) {
            const isEnd = Atomics.load(words, STOP) === 1;
            // Also at the end: an instance without samples has counts.
            if (this.isBehind) return true;
            const next = this.#awake.size > 0 ? due : this.#resting.size > 0 ? this.#restDue : Infinity;
            const rest = Math.min(REST, (next - clock()) / 1e6);
            if (rest > 0 && !isEnd) Atomics.wait(words, WAKE, 0, rest);
            const wanted = isEnd ? ALL : Atomics.exchange(words, WAKE, 0);
            if (wanted >= ONE) this.#lookAt(wanted - ONE);
            if (wanted !== ALL && clock() < next) continue;
            this.#look(this.#awake);
            if (wanted === ALL || clock() >= this.#restDue) this.#lookAtResting();
            if (isEnd) break;
            due = Math.max(due, clock() - periodNanos) + periodNanos * (0.5 + Math.random());
        }
        for (const profiled of [...this.#awake.values(), ...this.#resting.values()]) profiled.close(Reason.Unfinished, clock());
        Atomics.store(words, STATE, IS_NONE);
        Atomics.notify(words, STATE);
        return false;
    }

    #lookAt(number: number): void {
        for (const some of [this.#awake, this.#resting]) {
            if (some.get(number)?.sample(this.#clock) === false) some.delete(number);
        }
    }

    #lookAtResting(): void {
        const begun = this.#clock();
        this.#look(this.#resting);
        const now = this.#clock();
        this.#restDue = now + Math.max(REST_PERIODS * this.#sampling.periodNanos, (now - begun) / REST_PART);
    }

    /** Samples some instances, and moves those that rest or wake. */
    #look(some: Map<number, Profiled>): void {
        for (const [number, profiled] of some) {
            const isLive = profiled.sample(this.#clock);
            const place = profiled.isResting ? this.#resting : this.#awake;
            if (isLive && place === some) continue;
            some.delete(number);
            if (isLive) place.set(number, profiled);
        }
    }
}

/** Other threads' side of a sampler's thread. */
export class SamplerControl {
    readonly buffer: SharedArrayBuffer;
    readonly #words: Int32Array;

    constructor(buffer = new SharedArrayBuffer(SAMPLER_BYTES)) {
        this.buffer = buffer;
        this.#words = new Int32Array(buffer);
    }

    get runs(): boolean {
        return Atomics.load(this.#words, STATE) === IS_RUNNING;
    }

    /** Changes the state if it is `before`. Returns whether it was. */
    become(before: number, state: number): boolean {
        return Atomics.compareExchange(this.#words, STATE, before, state) === before;
    }

    /** Announces a message. */
    announce(): void {
        Atomics.add(this.#words, MESSAGES, 1);
        this.wake();
    }

    /** Requests a sample now, of one instance or of all. */
    wake(number?: number): void {
        const wanted = number === undefined ? ALL : ONE + number;
        // Another request may be pending.
        if (Atomics.compareExchange(this.#words, WAKE, 0, wanted) !== 0) Atomics.store(this.#words, WAKE, ALL);
        Atomics.notify(this.#words, WAKE);
    }

    /** Ends the sampler, which writes the rest. */
    stop(): void {
        Atomics.store(this.#words, STOP, 1);
        this.wake();
    }
}
