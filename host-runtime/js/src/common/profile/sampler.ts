/** What a sampler's thread does with the instances that make a profile. host-runtime/wasmtime/src/profile.rs does the same. */

import { Reason, SHADOW_SLOTS, SHADOW_STACK } from '../constants.js';
import { Counts } from './counts.js';
import type { ProfiledInstance } from './profiled-instance.js';
import { instantiate } from '../instantiate.js';
import { SpanWriter } from './span-writer.js';
import { HOST, SampleTree } from './sample-tree.js';
import { ParentReader } from './parent-cell.js';
import type { Sampling } from './sampling.js';
import { LOOK } from '../wasm-source.js';
import { encodeWindow } from '../trace/window.js';

/**
 * Words of an instance's control. The first is twice the number of unwinds so far, and odd while one is being written. The others
 * describe the unwinds that the sampler hasn't heard of yet: the least depth; the reason; and how many calls were open at the first
 * of them. Calls deeper than that had returned.
 */
export const CONTROL_UNWOUND = 0;
export const CONTROL_DEPTH = 1;
export const CONTROL_REASON = 2;
export const CONTROL_HEARD = 3;
/** Set to the reason plus one to end the instance: the sampler closes its open calls for this reason, and looks at it no more. */
export const CONTROL_END = 4;
/** 1 when that is done. */
export const CONTROL_ENDED = 5;
export const CONTROL_OPEN = 6;
export const CONTROL_BYTES = 32;

/** Takes what a sampler found. */
export interface TakeFound {
    /** Takes the body of a `PROF`, the time of the window's end, and how often each function was called until then. */
    window(number: number, body: Uint8Array, counted: Float64Array, endTicks: number): void;
    /** A block of slow calls; the bytes are only borrowed. */
    span(number: number, block: Uint8Array): void;
    /** Takes the parent of the calls in the next blocks: the payload of a `PRNT`. */
    parent(number: number, payload: Uint8Array): void;
    /** That was all. */
    ended(number: number): void;
}

/** How long the first window is if nothing is said, in nanoseconds, and the longest where a page may be closed at any time. */
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

/** A call that the last sample found open. */
interface OpenCall {
    func: number;
    hasSerial: boolean;
    /** The call's path; if the tree has no room for it, the path of the call around it. */
    node: number;
    cut: boolean;
    /** When the call is taken to have begun: halfway between the first sample that saw it and the sample before that. */
    start: number;
    /** Its parent span, if it is the outermost call. */
    parent: Uint8Array | undefined;
}

/** One instance. */
export class Profiled {
    readonly number: number;
    readonly #counts: Counts;
    readonly #sampling: Sampling;
    readonly #take: TakeFound;
    readonly #control: Int32Array;
    /** The front of the instance's own memory. */
    readonly #front: Int32Array;
    readonly #memory: WebAssembly.Memory;
    /** What looks, while the instance is awake, and both halves of its memory: an engine has room for some thousands. */
    #look: { exports: LookExports; slots: Uint32Array } | undefined;
    readonly #tree = new SampleTree();
    readonly #spans: SpanWriter;
    readonly #parentReader: ParentReader;
    /** The parent of calls that begin now, and the parent that the trace has. */
    #parent: Uint8Array | undefined;
    #writtenParent: Uint8Array | undefined;
    /** The outermost first. Those that are told are the first ones: an outer call lasts longer. */
    readonly #open: OpenCall[] = [];
    #written = 0;
    /** How often each function was called until the window began. */
    readonly #counted: Float64Array;
    /** How often it was switched off or on, as far as the sampler has heard of it. */
    #switches = 0;
    #start: number;
    /** When the last sample was taken that was not torn. */
    #last: number;
    /** When a call was last seen open, and its path. */
    #busy: number;
    #found = HOST;
    /** What a call that was found after a rest got at once, and what it gets if it ends soon. */
    #half = 0;
    #owed = 0;
    #length: number;
    #samples = 0;
    #torn = 0;
    #cut = 0;
    #idle = 0;
    #squares = 0;

    constructor(instance: ProfiledInstance, sampling: Sampling, take: TakeFound) {
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

    /** Whether it needs fewer looks: no call was open for long, or it is switched off. */
    get isResting(): boolean {
        return !this.#isOn || this.#last - this.#busy >= REST_AFTER;
    }

    /** Looks at the open calls. `clock` reads the time, in ticks. False if it has ended. */
    sample(clock: () => number): boolean {
        // Asked before it looks: what is open at the end is open.
        const end = Atomics.load(this.#control, CONTROL_END);
        this.#takeSwitches();
        if (this.#isOn) this.#sample(clock);
        if (end !== 0) this.close((end - 1) as Reason, clock());
        return end === 0;
    }

    get #isOn(): boolean {
        return this.#switches % 2 === 0;
    }

    /** Hears of switches. What runs while it is off is in no window. */
    #takeSwitches(): void {
        const { switches, switchedAt } = this.#counts;
        if (switches === this.#switches) return;
        // By what was seen last it was on still.
        const now = Math.max(switchedAt, this.#last);
        const wasOn = this.#isOn;
        this.#switches = switches;
        if (wasOn) this.#unwind(0, now, Reason.Unfinished);
        else this.#start = now;
        // Where it was on and off again since, its calls are in the counts.
        if (wasOn || !this.#isOn) this.#endWindow(now);
        this.#last = now;
    }

    #sample(clock: () => number): void {
        const isWhole = this.#takeUnwound(clock) && this.#lookBetween();
        const now = clock();
        if (!isWhole) {
            // The next one stands for this one's time too.
            this.#torn++;
            return;
        }
        const elapsed = Math.max(0, now - this.#last);
        const middle = this.#last + Math.floor(elapsed / 2);
        // A look at one that rests comes late on purpose. Where it finds a long turn, that has lasted for half of the time since the look
        // before, on average. A short turn is found as often as its length is a part of that time, so it gets all of the time in the end.
        const rested = this.isResting;
        const ran = rested ? now - middle : elapsed;
        this.#last = now;
        this.#parent = this.#parentReader.read() ?? this.#parent;
        const same = this.#see(middle);
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

    /** Nothing is open any more: what was found after a rest gets what it is owed, as a part of that sample. */
    #pay(): void {
        const owed = this.#owed;
        if (owed === 0) return;
        this.#tree.add(this.#found, owed, 0);
        this.#idle -= owed;
        this.#squares += owed * (owed + 2 * this.#half);
        this.#owed = 0;
    }

    /** Hears of calls that were unwound. False while some are. */
    #takeUnwound(clock: () => number): boolean {
        const control = this.#control;
        const unwound = Atomics.load(control, CONTROL_UNWOUND);
        if (unwound === control[CONTROL_HEARD]) return true;
        const [open, depth, reason] = [control[CONTROL_OPEN]!, control[CONTROL_DEPTH]!, control[CONTROL_REASON] as Reason];
        if ((unwound & 1) === 1 || Atomics.load(control, CONTROL_UNWOUND) !== unwound) return false;
        const now = clock();
        this.#leave(open, now);
        this.#unwind(depth, now, reason);
        Atomics.store(control, CONTROL_HEARD, unwound);
        return true;
    }

    /** Finds out which calls are open. False if it couldn't, or if calls were unwound meanwhile: they have not returned. */
    #lookBetween(): boolean {
        if (!this.#look && Atomics.load(this.#front, SHADOW_STACK / 4) === 0) return true;
        try {
            this.#look ??= lookerAt(this.#memory);
        } catch {
            // There is no memory left for it. A later one may have some.
            return false;
        }
        const { look, path, depth } = this.#look.exports;
        const last = [path.value, depth.value] as const;
        if (look() === 0) return false;
        if (Atomics.load(this.#control, CONTROL_UNWOUND) === this.#control[CONTROL_HEARD]) return true;
        [path.value, depth.value] = last;
        return false;
    }

    /** Writes what is left, with the calls that are open closed for a reason. */
    close(reason: Reason, now: number): void {
        this.#spans.close(now, reason, 0);
        if (this.#isOn) this.#endWindow(now);
        this.#take.ended(this.number);
        Atomics.store(this.#control, CONTROL_ENDED, 1);
        Atomics.notify(this.#control, CONTROL_ENDED);
    }

    /** Takes in a sample. What changed since the one before is taken to have changed halfway between them. Answers how many calls are the same. */
    #see(middle: number): number {
        if (!this.#look) return 0;
        const { exports, slots } = this.#look;
        const same = Math.min(exports.same.value, this.#open.length);
        this.#leave(same, middle);
        this.#open.length = same;
        const depth = exports.depth.value;
        for (let n = same, at = exports.path.value / 4 + 2 * same; n < depth; n++, at += 2) this.#push(slots[at]! - 1, slots[at + 1] !== 0, middle);
        return same;
    }

    /** Calls that were told and are deeper than this have returned. */
    #leave(depth: number, now: number): void {
        for (; this.#written > depth; this.#written--) this.#spans.leave(now);
    }

    #push(func: number, hasSerial: boolean, start: number, parent = this.#parent): void {
        const around = this.#open.at(-1);
        const path = around ? around.node : HOST;
        const child = around?.cut === true ? undefined : this.#tree.child(path, func);
        this.#open.push({ func, hasSerial, node: child ?? path, cut: child === undefined, start, parent });
    }

    /** The first `same` calls were seen twice. Writes those of them that have lasted long enough. */
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

    /** The outermost call that is told next has a parent. */
    #writeParent(parent: Uint8Array | undefined): void {
        if (!parent || parent === this.#writtenParent) return;
        this.#spans.flush();
        this.#take.parent(this.number, parent);
        this.#writtenParent = parent;
    }

    /** Calls deeper than this were unwound. */
    #unwind(depth: number, now: number, reason: Reason): void {
        if (this.#open.length > depth) this.#open.length = depth;
        this.#spans.close(now, reason, depth);
        this.#written = Math.min(this.#written, depth);
    }

    /** Writes the window and begins the next. */
    #endWindow(now: number): void {
        const { periodNanos, spanMinNanos = 0 } = this.#sampling;
        const calls = this.#counts.since(this.#counted);
        const body = encodeWindow({
            startTicks: this.#start, endTicks: now, periodNanos, spanMinNanos, samples: this.#samples, torn: this.#torn, cut: this.#cut,
            idleTicks: this.#idle, squares: this.#squares, nodes: this.#tree.take(), calls,
        });
        this.#start = now;
        this.#samples = this.#torn = this.#cut = this.#idle = this.#squares = 0;
        // The tree is a new one.
        this.#owed = 0;
        for (const { func, hasSerial, start, parent } of this.#open.splice(0)) this.#push(func, hasSerial, start, parent);
        this.#spans.flush();
        this.#take.window(this.number, body, this.#counted, now);
    }
}

/** What the guests' threads say to a sampler's: words of shared memory. How many messages are on their way; whether it is to end; what it is to look at now. */
const MESSAGES = 0;
const STOP = 1;
const WAKE = 2;
/** It is to look at all instances, or at one: this and its number. */
const ALL = 1;
const ONE = 2;
/** The sampler's states: nobody asked for it; it runs; somebody waits for it; it is being started. */
export const STATE = 3;
export const IS_NONE = 0;
export const IS_RUNNING = 1;
export const IS_WANTED = 2;
export const IS_STARTING = 3;
/** Their length in bytes. */
export const SAMPLER_BYTES = 16;
/** Milliseconds that it rests where there is nothing to look at. */
const REST = 1000;
/** An instance in which nothing was open for so long, in nanoseconds, rests. */
const REST_AFTER = 100e6;
/** So many periods it is to the next look at those that rest. To wake a thread costs up to 40 us of a processor on a virtual machine. */
const REST_PERIODS = 10;
/** A look at all that rest takes no more than this part of the time. */
const REST_PART = 0.05;

/** The loop of a sampler's thread. */
export class SamplerLoop {
    readonly #words: Int32Array;
    readonly #sampling: Sampling;
    readonly #clock: () => number;
    readonly #take: TakeFound;
    /** Those that may have open calls, and those that rest, by their numbers. */
    readonly #awake = new Map<number, Profiled>();
    readonly #resting = new Map<number, Profiled>();
    /** When it is time to look at those that rest. */
    #restDue = 0;
    #received = 0;

    /** `clock` reads the time, in ticks. */
    constructor(control: SharedArrayBuffer, sampling: Sampling, clock: () => number, take: TakeFound) {
        this.#words = new Int32Array(control);
        this.#sampling = sampling;
        this.#clock = clock;
        this.#take = take;
        Atomics.store(this.#words, STATE, IS_RUNNING);
        Atomics.notify(this.#words, STATE);
    }

    /** A message has come: looks at one more. */
    add(instance: ProfiledInstance): void {
        this.#received++;
        this.#awake.set(instance.number, new Profiled(instance, this.#sampling, this.#take));
    }

    /** How many messages threads have sent, to this sampler or to one before it. */
    get announced(): number {
        return Atomics.load(this.#words, MESSAGES);
    }

    /** Notes that of the first so many messages no more will come. */
    hasReceived(messages: number): void {
        this.#received = messages;
    }

    /** Whether messages are on their way. */
    get isBehind(): boolean {
        return this.#received < this.announced;
    }

    /** Looks until messages are on their way. False if it has ended. */
    run(): boolean {
        const [words, clock, { periodNanos }] = [this.#words, this.#clock, this.#sampling];
        // Samples are due at fixed moments, so that one that comes late doesn't put off the others; those that are missed are
        // left out, and the next stands for their time.
        for (let due = clock() + periodNanos; ; ) {
            const isEnd = Atomics.load(words, STOP) === 1;
            // At the end too: an instance that nobody has looked at has counts.
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
            const now = clock();
            due += periodNanos * Math.max(1, Math.ceil((now - due) / periodNanos));
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

    /** Looks at some, and finds out which of them rest from now on. */
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

/** A sampler's thread as others see it. */
export class SamplerControl {
    readonly buffer: SharedArrayBuffer;
    readonly #words: Int32Array;

    constructor(buffer = new SharedArrayBuffer(SAMPLER_BYTES)) {
        this.buffer = buffer;
        this.#words = new Int32Array(buffer);
    }

    /** Whether it runs. */
    get runs(): boolean {
        return Atomics.load(this.#words, STATE) === IS_RUNNING;
    }

    /** Goes from a state to another. False if it was not in that. */
    become(before: number, state: number): boolean {
        return Atomics.compareExchange(this.#words, STATE, before, state) === before;
    }

    /** A message is on its way. */
    announce(): void {
        Atomics.add(this.#words, MESSAGES, 1);
        this.wake();
    }

    /** It shall look now, at all or at the instance with this number. */
    wake(number?: number): void {
        const wanted = number === undefined ? ALL : ONE + number;
        // Somebody else may want another.
        if (Atomics.compareExchange(this.#words, WAKE, 0, wanted) !== 0) Atomics.store(this.#words, WAKE, ALL);
        Atomics.notify(this.#words, WAKE);
    }

    /** Ends it; it writes what is left. */
    stop(): void {
        Atomics.store(this.#words, STOP, 1);
        this.wake();
    }
}
