/** One thread's part of a recording, and what JavaScript can do with it. */

import { ImportedRecorder } from './imported-recorder.js';
import { CAPACITY, HOST_MODULE, MODULE, Reason, SYMBOLS_SECTION } from '../constants.js';
import { engine, instanceExportsOf, isModule, sectionsOf } from '../engine.js';
import { checkVersion, countsInstructions, Expected, expectedOf, innerMemory, isInlined } from './inlined-recorder.js';
import { hasMultiMemory, Lane, type MakeRecorder, type TimeSource } from './lane.js';
import { CONTROL, type SharedLane } from './shared-lane.js';
import { Lanes, type Lane as AnyLane } from './lanes.js';
import type { Output } from './output.js';
import { isProfile, makesProfile, Profile, type SamplerLink } from '../profile/profile.js';
import { HostSpans } from './spans.js';
import { activeSpan, equalParents, parentPayload, type AskParent, type Parent } from '../trace/parent.js';
import { Stacks } from './stacks.js';
import { Suspension, type Jspi } from './suspension.js';
import { importsWith, type Exit } from './imports.js';
import { equalBytes, readSymbols } from '../trace/symbols.js';
import type { Header, Summary } from '../trace/trace.js';

/** A function of a guest, or one that it imports. */
export type Guest = (...parameters: unknown[]) => unknown;

function jspi(): Jspi {
    if (!('promising' in WebAssembly)) throw new Error('kperf: this engine cannot suspend guests (WebAssembly.promising)');
    return WebAssembly as unknown as Jspi;
}

/** What a host adds to a recorder. */
export interface RecorderSettings {
    /** Answers the parent of the guest's calls whenever the recorder asks. Without it that is the active span of `@opentelemetry/api`. */
    parent?: AskParent | undefined;
    /** Is told of each lane when it begins, so that other threads can look into it. */
    opened?: ((number: number, lane: SharedLane) => void) | undefined;
    /** Measures what a probe costs: with the recorder inside of a module, or beside it. */
    cost?: ((inlined: boolean) => Header['probe_cost']) | undefined;
    /** Is told when the first module with its recorder inside comes, before it is compiled for speed. */
    inside?: (() => void) | undefined;
    /** Begins to sample instances that make a profile; throws, with the reason, where that can't be done. */
    sampler?: (() => SamplerLink) | undefined;
}

/** An exception may leave frames open in an instance that makes a profile. They are closed within so many milliseconds. */
const SETTLE = 10;
/** That takes no more than this part of the thread's time: there may be thousands of instances. */
const SETTLE_PART = 0.02;

/** A lane, and what the trace says about it. */
interface Member {
    lane: Lane;
    number: number;
    /** The parent of its calls, as the trace has it last. */
    parent: Parent | undefined;
}

/** Records probed modules that are instantiated in this thread. */
export class Recorder {
    /** Keeps suspended stacks apart. */
    readonly suspension: Suspension;
    /** Is called when a WASI program calls `proc_exit`, before the program ends. */
    onExit: ((code: number, exit: Exit) => void) | undefined;
    readonly #output: Output;
    readonly #time: TimeSource;
    readonly #settings: RecorderSettings;
    readonly #lanes = new Lanes();
    /** The numbers of the lanes in the trace. */
    #numbers: number[] = [];
    /** Is told when the garbage collector has taken an instance. */
    readonly #gone = new FinalizationRegistry<{ lane: AnyLane; number: number }>((member) => this.#retire(member));
    /** The lane of all modules whose recorder is beside them, and its recorder. */
    #own: { lane: Lane; seat: ImportedRecorder } | undefined;
    #sampler: SamplerLink | undefined;
    /** Whether a module has come that has its recorder inside. */
    #hasInside = false;
    /** The instances that make a profile. */
    readonly #profiles = new Set<Profile>();
    #settling: ReturnType<typeof setTimeout> | undefined;
    /** Promises for the ends of lanes whose instances are gone. */
    readonly #retiring = new Set<Promise<void>>();
    /** The lane of the first instance that has its recorder inside. */
    #inner: Lane | undefined;
    /** Instances that are to come. */
    #expected: Expected[] = [];
    /** The memories of the instances that have come. */
    readonly #attached = new WeakSet<WebAssembly.Memory>();
    /** The value that `setRecording` was given. */
    #on = true;
    /** The parent that `setParent` was given. */
    #setTo: Parent | undefined;
    readonly #spans: HostSpans;
    /** The tables that are known, by their first id. */
    readonly #tables: { idBase: number; idEnd: number; bytes: Uint8Array }[] = [];
    #summary: Summary | Promise<Summary> | undefined;

    /** Nothing is recorded yet, and no lane is there. */
    constructor(output: Output, time: TimeSource, settings: RecorderSettings = {}) {
        this.#output = output;
        this.#time = time;
        this.#settings = settings;
        const stacks = new Stacks();
        // ImportedRecorder the calls of a guest where they can stand there.
        this.#spans = new HostSpans(() => this.#own?.lane ?? this.#inner ?? this.#beside().lane, output, stacks);
        this.suspension = new Suspension(this.#lanes, stacks);
    }

    /** The numbers of its lanes in the trace. */
    get numbers(): readonly number[] {
        return this.#numbers;
    }

    /** How many instances that make a profile are there. */
    get profiles(): number {
        return this.#profiles.size;
    }

    /** How many instances recorded something that is not in the trace: they failed in their start section, or nobody called `attach`. */
    get unseen(): number {
        return this.#expected.filter(({ isLost }) => isLost).length;
    }

    /** Whether the recording has ended. */
    get finished(): boolean {
        return this.#summary !== undefined;
    }

    /**
     * Adds the recorder to the imports of a probed module. Use what it answers for one instance only. For a module without
     * probes it answers the imports as they are. Wants the module, or its bytes. If the recorder is inside the module, call
     * `attach` with the instance, too.
     *
     * Throws if another module has the same function ids: rewrite such modules together, or with `--id-base`.
     */
    imports(imports: WebAssembly.Imports | undefined, module: WebAssembly.Module | BufferSource): WebAssembly.Imports {
        const compiled = isModule(module) ? module : new engine.Module(module);
        const table = sectionsOf(compiled, SYMBOLS_SECTION)[0];
        if (!table) return imports ?? {};
        const inlined = isInlined(compiled);
        const profile = inlined && isProfile(compiled);
        this.#checkClock(countsInstructions(compiled));
        if (inlined && !profile) checkVersion(compiled);
        if (profile) this.startSampler();
        this.#begin(new Uint8Array(table), profile, inlined);
        if (inlined && !this.#hasInside) this.#settings.inside?.();
        this.#hasInside ||= inlined;
        const supplied = (ours: WebAssembly.Imports): WebAssembly.Imports => importsWith(compiled, imports, ours, this.#lanes, (code, exit) => this.onExit?.(code, exit));
        if (!inlined) return supplied({ [MODULE]: this.#beside().seat.probes });
        const expected = new Expected(this.#time, profile);
        this.#expected.push(expected);
        return supplied({ [HOST_MODULE]: expected.imports });
    }

    /** The probes that a module with this symbol table imports from `kperf`: for one whose instance somebody else makes. */
    probes(symbols: Uint8Array): WebAssembly.ModuleImports {
        this.#begin(symbols, false, false);
        return this.#beside().seat.probes;
    }

    #checkClock(counts: boolean): void {
        if (counts === (this.#time.kind === 'instructions')) return;
        throw new Error(
            counts
                ? 'kperf: the module counts its instructions: record it with the clock `instructions`'
                : "kperf: the module doesn't count its instructions: rewrite the original with `--clock instructions`, or use another clock",
        );
    }

    /**
     * Makes an instance known that was made with such imports, and answers it. If the recorder is inside the module, what it
     * records is seen from here on. Other instances don't need this.
     */
    attach<Instance extends WebAssembly.Instance>(instance: Instance): Instance {
        const exports = instanceExportsOf(instance);
        const memory = innerMemory(exports);
        if (!memory || this.#attached.has(memory)) return instance;
        const profile = makesProfile(exports);
        // One that makes a profile has said so when it began, and says nothing more.
        const expected = profile ? this.#expected.find((expected) => expected.isProfile && expected.hasBegun) : expectedOf(exports);
        // Another recorder may expect it.
        if (!expected || !this.#expected.includes(expected)) return instance;
        this.#attached.add(memory);
        this.#expected = this.#expected.filter((other) => other !== expected);
        if (profile) this.#profile(exports);
        else {
            const member = this.#open(expected.seat(exports));
            if (this.finished) member.lane.end(Reason.Unfinished);
            else this.#gone.register(exports, member);
            this.#inner ??= member.lane;
        }
        return instance;
    }

    /** Use this instead of `WebAssembly.instantiate`: the instance is recorded, wherever its recorder is. */
    async instantiate(source: WebAssembly.Module | BufferSource, imports?: WebAssembly.Imports): Promise<WebAssembly.WebAssemblyInstantiatedSource> {
        const module = isModule(source) ? source : await engine.compile(source);
        const instance = await engine.instantiate(module, this.imports(imports, module));
        return { module, instance: this.attach(instance) };
    }

    /**
     * Calls a function. If it throws, the frames that guests left open inside it are closed at once, as trapped or as ended by
     * the host. (Without this, they are closed when the present turn of the event loop ends.) In a profile, slow calls become
     * children of the span that is set or active now.
     */
    call<R>(call: () => R): R {
        const depths = this.#lanes.depths();
        if (this.#profiles.size > 0) this.#adopt(this.#setTo ?? this.#askParent());
        try {
            return call();
        } catch (error) {
            this.#lanes.closeTo(error instanceof WebAssembly.RuntimeError ? Reason.Trap : Reason.Host, depths);
            throw error;
        } finally {
            this.#adopt(this.#setTo);
        }
    }

    /**
     * Calls a function and records the call under a name, among the guest's calls. If the function returns a promise, a second
     * call, `NAME (await)`, lasts until the promise is settled.
     */
    span<R>(name: string, call: () => R): R {
        return this.#spans.run(name, call);
    }

    /** Use this instead of `WebAssembly.promising`: a guest's function that may be suspended is recorded on a stack of its own. */
    promising(call: Guest): Guest {
        const started = jspi().promising(call);
        return (...parameters) => this.suspension.start(() => started(...parameters));
    }

    /** Use this instead of `new WebAssembly.Suspending`, for an import that suspends the guest if it returns a promise. */
    suspending(call: Guest): object {
        return new (jspi().Suspending)((...parameters) => this.suspension.suspend(() => call(...parameters)));
    }

    /** Notes a point in time: a number of up to 26 bits, or a span without length that has a name. */
    mark(mark: number | string): void {
        if (typeof mark === 'number') this.#spans.mark(mark);
        else this.#spans.run(mark, () => undefined);
    }

    /**
     * From here on the guest's calls are children of this span. With `undefined` the recorder goes back to asking for itself: it
     * does so when guests begin to run in a turn of the event loop. If they run under several spans in one turn, call this.
     */
    setParent(parent: Parent | undefined): void {
        this.#setTo = parent;
        // The next event makes the recorder ask.
        this.#lanes.flush();
        this.#adopt(parent);
    }

    /**
     * Switches the probes of this thread's instances off or on again; instances to come too. Switching off closes open calls as
     * unfinished. Calls that begin while the probes are off are not recorded. (An instance that makes a profile goes on
     * counting then, but isn't sampled, and these counts are left out.) Other threads have a recorder of their own.
     */
    setRecording(on: boolean): void {
        if (this.finished) return;
        this.#on = on;
        this.#lanes.setRecording(on);
    }

    /** Hands over what this thread has recorded so far. Only needed for a block that isn't full: full ones go by themselves. */
    flush(): void {
        this.#lanes.flush();
    }

    /** Closes all open frames of the stack that runs, for a reason. */
    close(reason: Reason): void {
        this.#lanes.close(reason);
    }

    /** Ends this thread's part: closes open frames, and hands over what is left. Nothing that comes after is kept. */
    end(reason: Reason): void | Promise<void> {
        clearTimeout(this.#settling);
        const ended = this.#lanes.end(reason);
        if (ended || this.#retiring.size > 0) return Promise.all([ended, ...this.#retiring]).then(() => undefined);
    }

    /** Ends the recording. `outcome` says how the program ended: `completed`, `exit 3`, `trap: ...`. */
    async finish(outcome = 'completed'): Promise<Summary> {
        return this.#finish(outcome, Reason.Unfinished);
    }

    /** Ends the recording before it returns, if the sink can do that. In a page it can't. */
    finishSync(outcome = 'completed', reason: Reason = Reason.Unfinished): Summary {
        const summary = this.#finish(outcome, reason);
        if (summary instanceof Promise) throw new Error('kperf: this sink can only be closed by finish()');
        return summary;
    }

    #finish(outcome: string, reason: Reason): Summary | Promise<Summary> {
        if (this.#summary === undefined) {
            const ended = this.end(reason);
            this.#summary = ended ? ended.then(() => this.#output.finish(outcome)) : this.#output.finish(outcome);
        }
        return this.#summary;
    }

    /** The recorder beside the modules, and its lane. */
    #beside(): { lane: Lane; seat: ImportedRecorder } {
        if (this.#own) return this.#own;
        let seat!: ImportedRecorder;
        const { lane } = this.#open((flush) => (seat = new ImportedRecorder(this.#time, flush)));
        if (this.finished) lane.end(Reason.Unfinished);
        return (this.#own = { lane, seat });
    }

    /** Another lane of this thread. */
    #open(seat: MakeRecorder): Member {
        const { opened } = this.#settings;
        const number = this.#output.lane();
        const begin = (): void => this.#writeParent(member, this.#setTo ?? this.#askParent());
        const earlier = opened ? new SharedArrayBuffer(CONTROL + CAPACITY) : undefined;
        const member: Member = { lane: new Lane(seat, (block) => this.#output.block(number, block), begin, earlier, this.#on), number, parent: undefined };
        this.#numbers.push(number);
        this.#lanes.add(member.lane);
        opened?.(number, member.lane.shared);
        return member;
    }

    /** An instance that makes a profile. */
    #profile(exports: WebAssembly.Exports): void {
        const link = this.#sampler;
        if (!link || this.finished) return;
        const number = this.#output.lane();
        const lane = new Profile(exports, number, link, this.#on);
        this.#lanes.add(lane);
        this.#profiles.add(lane);
        lane.setParent(this.#setTo);
        this.#gone.register(exports, { lane, number });
        if (this.#settling === undefined) this.#settleIn(SETTLE);
    }

    /** Settles what makes a profile, again and again. Nothing tells when a guest begins to run. When this happens none does. */
    #settleIn(milliseconds: number): void {
        this.#settling = setTimeout(() => {
            const begun = performance.now();
            for (const profile of this.#profiles) profile.settle(Reason.Host);
            // What was told while calls were open.
            this.#adopt(this.#setTo);
            this.#settleIn(Math.max(SETTLE, (performance.now() - begun) / SETTLE_PART));
        }, milliseconds);
        // In node it keeps nobody alive.
        (this.#settling as { unref?: () => void }).unref?.();
    }

    /** Begins to sample, if that isn't done yet: for instances that make a profile. Throws where it can't be done. */
    startSampler(): void {
        if (this.#sampler) return;
        if (!hasMultiMemory) throw new Error('kperf: a profile wants an engine that gives a module several memories; rewrite it without --record profile');
        if (!this.#settings.sampler) throw new Error('kperf: nobody samples here; rewrite the module without --record profile');
        this.#sampler = this.#settings.sampler();
    }

    /** The instance of a lane is gone. */
    #retire({ lane, number }: { lane: AnyLane; number: number }): void {
        if (this.finished) return;
        const ended = lane.retire(Reason.Unfinished);
        if (ended) {
            this.#retiring.add(ended);
            void ended.then(() => this.#retiring.delete(ended));
        }
        if (lane instanceof Profile) this.#profiles.delete(lane);
        this.#lanes.remove(lane);
        this.#numbers = this.#numbers.filter((other) => other !== number);
        if (this.#inner === lane) this.#inner = undefined;
        this.#output.ended(number);
    }

    get #askParent(): AskParent {
        return this.#settings.parent ?? activeSpan;
    }

    /** Tells instances that make a profile the parent of their next calls: they don't notice when calls begin. */
    #adopt(parent: Parent | undefined): void {
        for (const profile of this.#profiles) profile.setParent(parent);
    }

    /** Writes the parent of a lane's next calls to the trace. */
    #writeParent(member: Member, parent: Parent | undefined): void {
        if (equalParents(parent, member.parent)) return;
        member.parent = parent;
        const payload = parentPayload(parent);
        if (!payload) return;
        member.lane.handOver();
        this.#output.parent(member.number, payload);
    }

    /** A module comes. */
    #begin(symbols: Uint8Array, profile: boolean, inlined: boolean): void {
        if (this.#tables.length === 0) {
            const cost = profile ? undefined : this.#settings.cost?.(inlined);
            if (cost) this.#output.probeCost(cost);
        }
        this.#addSymbols(symbols);
    }

    #addSymbols(bytes: Uint8Array): void {
        const { idBase, names } = readSymbols(bytes);
        const idEnd = idBase + names.length;
        const other = this.#tables.find((table) => table.idBase < idEnd && idBase < table.idEnd);
        if (other && equalBytes(other.bytes, bytes)) return;
        if (other) {
            const ids = `${Math.max(idBase, other.idBase)} to ${Math.min(idEnd, other.idEnd) - 1}`;
            throw new Error(`kperf: two modules have the ids ${ids}; rewrite them together, or one with --id-base ${other.idEnd}`);
        }
        this.#tables.push({ idBase, idEnd, bytes });
        if (!this.finished) this.#output.symbols(bytes);
    }
}
