/** One thread's part of a recording, and its API for JavaScript. */

import { ImportedRecorder } from './imported-recorder.js';
import { CAPACITY, HOST_MODULE, LOADED_IDS, MODULE, Reason, SYMBOLS_SECTION } from '../constants.js';
import { engine, instanceExportsOf, isModule, perModule, sectionsOf } from '../engine.js';
import { checkVersion, countsInstructions, Expected, expectedOf, innerMemory, isInlined } from './inlined-recorder.js';
import { hasMultiMemory, Lane, type MakeRecorder, type TimeSource } from './lane.js';
import { CONTROL, type SharedLane } from './shared-lane.js';
import { Lanes, type AnyLane } from './lanes.js';
import type { Output } from './output.js';
import { isProfile, makesProfile, Profile, type SamplerLink } from '../profile/profile.js';
import { SharedStacks } from '../profile/shared-stack.js';
import { HostSpans } from './spans.js';
import { activeSpan, equalParents, followManager, parentPayload, type AskParent, type Parent } from '../trace/parent.js';
import { Stacks } from './stacks.js';
import { Suspension, type Jspi } from './suspension.js';
import { importsWith, type Exit } from './imports.js';
import { equalBytes, idsOf, type Ids } from '../trace/symbols.js';
import type { Header, Summary } from '../trace/trace.js';

/** A guest's function, or one of its imports. */
export type Guest = (...parameters: unknown[]) => unknown;

function jspi(): Jspi {
    if (!('promising' in WebAssembly)) throw new Error('kperf: this engine cannot suspend guests (WebAssembly.promising)');
    return WebAssembly as unknown as Jspi;
}

/** Whether the event loop calls the other code, or code that a guest may have called. */
export type ContextChange = 'outermost' | 'nested';

/** A host's part of a recorder. */
export interface RecorderSettings {
    /** Returns the parent of the guest's calls. Default: the active span of `@opentelemetry/api`. */
    parent?: AskParent | undefined;
    /**
     * Calls `change` before the program goes on in another async context, in which another span may be active, within a turn of the event
     * loop. Returns a function that ends this.
     */
    contexts?: ((change: (change: ContextChange) => void) => () => void) | undefined;
    /** Called with each new lane, so that other threads can read it. */
    opened?: ((number: number, lane: SharedLane) => void) | undefined;
    /** Measures the cost of a probe. */
    cost?: ((inlined: boolean) => Header['probe_cost']) | undefined;
    /** Called before the first module with an inlined recorder runs. */
    firstInlined?: (() => void) | undefined;
    /** Reads the machine's clock in milliseconds; unset with another clock. */
    now?: (() => number) | undefined;
    /** The number of instances with inlined recorders after which further ones had better share one. */
    many?: number | undefined;
    /** Whether modules that are rewritten when they are loaded make a profile. */
    isProfile?: boolean | undefined;
    /** Starts to sample profiled instances; throws with the reason if that is impossible. */
    sampler?: (() => SamplerLink) | undefined;
}

/** Frames that an exception leaves open in a profiled instance are closed within this many milliseconds. */
const SETTLE = 10;
/** Closing them takes at most this part of the thread's time: there may be thousands of instances. */
const SETTLE_PART = 0.02;

/** By default, after this many instances with inlined recorders further ones had better share a recorder. */
const MANY = 32;

interface Member {
    lane: Lane;
    number: number;
    /** The last parent in the trace. */
    parent: Parent | undefined;
}

/** What the recorder knows of a module with probes; `undefined` without. */
const probedOf = perModule((module) => {
    const section = sectionsOf(module, SYMBOLS_SECTION)[0];
    if (!section) return undefined;
    const table = new Uint8Array(section);
    return { table, ...idsOf(table), inlined: isInlined(module), counts: countsInstructions(module) };
});

/** Records the probed modules that this thread instantiates. */
export class Recorder {
    /** Keeps suspended stacks apart. */
    readonly suspension: Suspension;
    /** Called when a WASI program calls `proc_exit`, before the program ends. */
    onExit: ((code: number, exit: Exit) => void) | undefined;
    readonly #output: Output;
    readonly #time: TimeSource;
    readonly #settings: RecorderSettings;
    readonly #lanes = new Lanes();
    #numbers: number[] = [];
    /** Called when an instance was garbage-collected. */
    readonly #gone = new FinalizationRegistry<{ lane: AnyLane; number: number }>((member) => this.#retire(member));
    /** The imported recorder, shared by all modules without an inlined one. */
    #imported: { lane: Lane; recorder: ImportedRecorder } | undefined;
    #sampler: SamplerLink | undefined;
    /** Whether a module with an inlined recorder has come. */
    #hasInlined = false;
    /** The number of instances with inlined recorders so far. */
    #inlined = 0;
    readonly #profiles = new Set<Profile>();
    #settling: ReturnType<typeof setTimeout> | undefined;
    /** Ends of lanes whose instances are gone. */
    readonly #retiring = new Set<Promise<void>>();
    /** The lane of the first instance with an inlined recorder. */
    #firstInlined: Lane | undefined;
    #expected: Expected[] = [];
    /** The memories of attached instances. */
    readonly #attached = new WeakSet<WebAssembly.Memory>();
    /** Set by `setRecording`. */
    #on = true;
    /** Set by `setParent`. */
    #parent: Parent | undefined;
    /** The lanes whose guests have run in this turn and context. */
    readonly #running = new Set<Member>();
    /** Set while changes of contexts are noticed. */
    #stopContexts: (() => void) | undefined;
    readonly #spans: HostSpans;
    /** The stacks of modules that make a profile with imported probes. */
    readonly #shared = new SharedStacks();
    readonly #sharedProfiles: Profile[] = [];
    /** Whether these are about to be settled. */
    #settles = false;
    /** Modules with a symbol table that is known. */
    readonly #begun = new WeakSet<WebAssembly.Module>();
    /** The symbol tables, and their ids. */
    readonly #tables: { idBase: number; idEnd: number; bytes: Uint8Array }[] = [];
    #summary: Summary | Promise<Summary> | undefined;

    constructor(output: Output, time: TimeSource, settings: RecorderSettings = {}) {
        this.#output = output;
        this.#time = time;
        this.#settings = settings;
        const stacks = new Stacks();
        // Among the calls of a guest, if there is one.
        this.#spans = new HostSpans(() => this.#imported?.lane ?? this.#firstInlined ?? this.#import().lane, output, stacks);
        this.suspension = new Suspension(this.#lanes, stacks, settings.now);
    }

    /** The numbers of its lanes. */
    get numbers(): readonly number[] {
        return this.#numbers;
    }

    /** The number of profiled instances. */
    get profiles(): number {
        return this.#profiles.size;
    }

    /** The number of instances whose events are not in the trace: their start section failed, or `attach` was not called. */
    get unseen(): number {
        return this.#expected.filter(({ isLost }) => isLost).length;
    }

    /** Whether there were so many instances with inlined recorders that further ones had better share one. */
    get hasMany(): boolean {
        return this.#inlined >= (this.#settings.many ?? MANY);
    }

    get finished(): boolean {
        return this.#summary !== undefined;
    }

    /**
     * Adds the recorder to a module's imports, for one instance. Returns the imports unchanged if the module has no probes. `module` may be
     * its bytes. If the module has an inlined recorder, call `attach` with the instance, too.
     *
     * Throws if another module has the same function ids: rewrite such modules together, or with other ids.
     */
    imports(imports: WebAssembly.Imports | undefined, module: WebAssembly.Module | BufferSource): WebAssembly.Imports {
        const compiled = isModule(module) ? module : new engine.Module(module);
        const probed = probedOf(compiled);
        if (!probed) return imports ?? {};
        const { inlined } = probed;
        const profile = inlined && isProfile(compiled);
        this.#checkClock(probed.counts);
        if (inlined && !profile) checkVersion(compiled);
        this.#followContexts();
        if (profile) this.startSampler();
        if (!this.#begun.has(compiled)) this.#begin(probed.table, profile || this.#sharesStack(probed), inlined);
        this.#begun.add(compiled);
        if (inlined && !this.#hasInlined) this.#settings.firstInlined?.();
        this.#hasInlined ||= inlined;
        const supplied = (ours: WebAssembly.Imports): WebAssembly.Imports => importsWith(compiled, imports, ours, this.#lanes, (code, exit) => this.onExit?.(code, exit));
        if (!inlined) return supplied({ [MODULE]: this.#probesOf(probed) });
        const expected = new Expected(this.#time, profile);
        this.#expected.push(expected);
        return supplied({ [HOST_MODULE]: expected.imports });
    }

    /** The imports from `kperf` for a module with this symbol table, which the caller instantiates. */
    probes(symbols: Uint8Array): WebAssembly.ModuleImports {
        const ids = idsOf(symbols);
        this.#begin(symbols, this.#sharesStack(ids), false);
        return this.#probesOf(ids);
    }

    /** The probes for a module without an inlined recorder. */
    #probesOf(ids: Ids): WebAssembly.ModuleImports {
        if (!this.#sharesStack(ids)) return this.#import().recorder.probes;
        this.startSampler();
        this.#settleSoon();
        return this.#shared.of(ids.idBase, ids.functions, (exports) => {
            const profile = this.#profile(exports);
            if (profile) this.#sharedProfiles.push(profile);
        });
    }

    /** Closes frames that an exception left open, when no guest runs. The next calls on a shared stack would be their callees. */
    #settleSoon(): void {
        if (this.#settles) return;
        this.#settles = true;
        queueMicrotask(() => {
            this.#settles = false;
            for (const profile of this.#sharedProfiles) profile.settle(Reason.Host);
        });
    }

    /** Whether a module without an inlined recorder makes a profile: if this recording is one, and the module was rewritten when it was loaded. */
    #sharesStack({ idBase }: Ids): boolean {
        return this.#settings.isProfile === true && hasMultiMemory && idBase >= LOADED_IDS;
    }

    #checkClock(counts: boolean): void {
        if (counts === (this.#time.kind === 'instructions')) return;
        throw new Error(
            counts
                ? 'kperf: the module counts its instructions: record it with the clock `instructions`'
                : "kperf: the module doesn't count its instructions: rewrite the original with `--clock instructions`",
        );
    }

    /** Records an instance with an inlined recorder that was made with these imports, and returns it. Other instances don't need this. */
    attach<Instance extends WebAssembly.Instance>(instance: Instance): Instance {
        const exports = instanceExportsOf(instance);
        const memory = innerMemory(exports);
        if (!memory || this.#attached.has(memory)) return instance;
        const profile = makesProfile(exports);
        // A profiled instance has called its host when it began, and never does so again.
        const expected = profile ? this.#expected.find((expected) => expected.isProfile && expected.hasBegun) : expectedOf(exports);
        // It may be another recorder's.
        if (!expected || !this.#expected.includes(expected)) return instance;
        this.#attached.add(memory);
        this.#inlined++;
        this.#expected = this.#expected.filter((other) => other !== expected);
        if (profile) this.#profile(exports);
        else {
            const member = this.#open(expected.recorder(exports));
            if (this.finished) member.lane.end(Reason.Unfinished);
            else this.#gone.register(exports, member);
            this.#firstInlined ??= member.lane;
        }
        return instance;
    }

    /** Replaces `WebAssembly.instantiate`, and records the instance. */
    async instantiate(source: WebAssembly.Module | BufferSource, imports?: WebAssembly.Imports): Promise<WebAssembly.WebAssemblyInstantiatedSource> {
        const module = isModule(source) ? source : await engine.compile(source);
        const instance = await engine.instantiate(module, this.imports(imports, module));
        return { module, instance: this.attach(instance) };
    }

    /**
     * Calls a function. If it throws, frames that guests left open are closed immediately, as trapped or as ended by the host. (Otherwise
     * they are closed after the current turn of the event loop.) In a profile, slow calls become children of the span that is set or active.
     */
    call<R>(call: () => R): R {
        const depths = this.#lanes.depths();
        if (this.#profiles.size > 0) this.#adopt(this.#parent ?? this.#askParent());
        try {
            return call();
        } catch (error) {
            this.#lanes.closeTo(error instanceof WebAssembly.RuntimeError ? Reason.Trap : Reason.Host, depths);
            throw error;
        } finally {
            this.#adopt(this.#parent);
        }
    }

    /** Records a function's call under a name. If it returns a promise, a second call `NAME (await)` lasts until the promise is settled. */
    span<R>(name: string, call: () => R): R {
        return this.#spans.run(name, call);
    }

    /** Replaces `WebAssembly.promising`: records a guest's function on its own stack. */
    promising(call: Guest): Guest {
        const started = jspi().promising(call);
        return (...parameters) => this.suspension.start(() => started(...parameters));
    }

    /** Replaces `new WebAssembly.Suspending`, for an import that suspends the guest. */
    suspending(call: Guest): object {
        return new (jspi().Suspending)((...parameters) => this.suspension.suspend(() => call(...parameters)));
    }

    /** Records a mark: a number of up to 26 bits, or a named span of no length. */
    mark(mark: number | string): void {
        if (typeof mark === 'number') this.#spans.mark(mark);
        else this.#spans.run(mark, () => undefined);
    }

    /**
     * Makes later calls of guests children of this span. With `undefined` the recorder asks `parent` again, whenever guests begin to run in
     * a turn of the event loop. Call this if they run under several spans in one turn.
     */
    setParent(parent: Parent | undefined): void {
        this.#parent = parent;
        // So that the next event calls `begin` of its lane.
        this.#lanes.flush();
        this.#adopt(parent);
    }

    /**
     * Switches recording off or on for this thread's present and later instances. Switching off closes open calls as unfinished. Calls that
     * begin while recording is off are left out, also of the counts of profiled instances.
     */
    setRecording(on: boolean): void {
        if (this.finished) return;
        this.#on = on;
        this.#lanes.setRecording(on);
    }

    /** Hands over everything recorded so far. Full blocks are handed over by themselves. */
    flush(): void {
        this.#lanes.flush();
    }

    /** Closes all open frames of the running stack. */
    close(reason: Reason): void {
        this.#lanes.close(reason);
    }

    /** Ends this thread's part: closes open frames and hands over the rest. Later events are dropped. */
    end(reason: Reason): void | Promise<void> {
        clearTimeout(this.#settling);
        this.#stopContexts?.();
        const ended = this.#lanes.end(reason);
        if (ended || this.#retiring.size > 0) return Promise.all([ended, ...this.#retiring]).then(() => undefined);
    }

    /** Ends the recording. `outcome` says how the program ended: `completed`, `exit 3`, `trap: ...`. */
    async finish(outcome = 'completed'): Promise<Summary> {
        return this.#finish(outcome, Reason.Unfinished);
    }

    /** Ends the recording synchronously. Throws in a page, whose sinks can't do that. */
    finishSync(outcome = 'completed', reason: Reason = Reason.Unfinished): Summary {
        const summary = this.#finish(outcome, reason);
        if (summary instanceof Promise) throw new Error('kperf: use finish() with this sink');
        return summary;
    }

    #finish(outcome: string, reason: Reason): Summary | Promise<Summary> {
        if (this.#summary === undefined) {
            const ended = this.end(reason);
            this.#summary = ended ? ended.then(() => this.#output.finish(outcome)) : this.#output.finish(outcome);
        }
        return this.#summary;
    }

    #import(): { lane: Lane; recorder: ImportedRecorder } {
        if (this.#imported) return this.#imported;
        let recorder!: ImportedRecorder;
        const { lane } = this.#open((flush) => (recorder = new ImportedRecorder(this.#time, flush)));
        if (this.finished) lane.end(Reason.Unfinished);
        return (this.#imported = { lane, recorder });
    }

    /** Opens a lane. */
    #open(makeRecorder: MakeRecorder): Member {
        const { opened } = this.#settings;
        const number = this.#output.lane();
        const begin = (): void => this.#beginTurn(member);
        const earlier = opened ? new SharedArrayBuffer(CONTROL + CAPACITY) : undefined;
        const member: Member = { lane: new Lane(makeRecorder, (block) => this.#output.block(number, block), begin, earlier, this.#on), number, parent: undefined };
        this.#numbers.push(number);
        this.#lanes.add(member.lane);
        opened?.(number, member.lane.shared);
        return member;
    }

    #profile(exports: WebAssembly.Exports): Profile | undefined {
        const link = this.#sampler;
        if (!link || this.finished) return undefined;
        const number = this.#output.lane();
        const lane = new Profile(exports, number, link, this.#on);
        this.#lanes.add(lane);
        this.#profiles.add(lane);
        lane.setParent(this.#parent);
        this.#gone.register(exports, { lane, number });
        if (this.#settling === undefined) this.#settleIn(SETTLE);
        return lane;
    }

    /** Settles profiled instances periodically: they don't call the host when they begin to run. No guest runs in this timer. */
    #settleIn(milliseconds: number): void {
        this.#settling = setTimeout(() => {
            const begun = performance.now();
            for (const profile of this.#profiles) profile.settle(Reason.Host);
            // It may have been set while calls were open.
            this.#adopt(this.#parent);
            this.#settleIn(Math.max(SETTLE, (performance.now() - begun) / SETTLE_PART));
        }, milliseconds);
        // In node it must not keep the process alive.
        (this.#settling as { unref?: () => void }).unref?.();
    }

    /** Starts to sample profiled instances. Throws if that is impossible. */
    startSampler(): void {
        if (this.#sampler) return;
        if (!hasMultiMemory) throw new Error('kperf: a profile needs an engine with multi-memory; record a trace instead');
        if (!this.#settings.sampler) throw new Error('kperf: this host has no sampler; record a trace instead');
        this.#sampler = this.#settings.sampler();
    }

    /** Ends the lane of an instance that is gone. */
    #retire({ lane, number }: { lane: AnyLane; number: number }): void {
        if (this.finished) return;
        const ended = lane.retire(Reason.Unfinished);
        if (ended) {
            this.#retiring.add(ended);
            void ended.then(() => this.#retiring.delete(ended));
        }
        if (lane instanceof Profile) this.#profiles.delete(lane);
        for (const member of this.#running) if (member.lane === lane) this.#running.delete(member);
        this.#lanes.remove(lane);
        this.#numbers = this.#numbers.filter((other) => other !== number);
        if (this.#firstInlined === lane) this.#firstInlined = undefined;
        this.#output.ended(number);
    }

    /** Called when a guest begins to run in a turn of the event loop, or in another context of it. */
    #beginTurn(member: Member): void {
        this.#running.add(member);
        this.#followContexts();
        this.#writeParent(member, this.#parent ?? this.#askParent());
    }

    /** Begins to notice changes of contexts as soon as parents depend on them. */
    #followContexts(): void {
        if (this.#stopContexts) return;
        const change = (change: ContextChange): void => {
            for (const member of this.#running) if (member.lane.pause(change)) this.#running.delete(member);
        };
        if (!followManager(() => change('nested')) && !this.#settings.parent) return;
        this.#stopContexts = this.#settings.contexts?.(change) ?? (() => undefined);
    }

    get #askParent(): AskParent {
        return this.#settings.parent ?? activeSpan;
    }

    /** Sets the parent of profiled instances' next calls: they don't call the host when calls begin. */
    #adopt(parent: Parent | undefined): void {
        for (const profile of this.#profiles) profile.setParent(parent);
    }

    /** Writes the parent of a lane's next calls. */
    #writeParent(member: Member, parent: Parent | undefined): void {
        if (equalParents(parent, member.parent)) return;
        member.parent = parent;
        const payload = parentPayload(parent);
        if (!payload) return;
        member.lane.handOver();
        this.#output.parent(member.number, payload);
    }

    /** Takes a module's symbols, and the cost of a probe before the first. */
    #begin(symbols: Uint8Array, profile: boolean, inlined: boolean): void {
        if (this.#tables.length === 0) {
            const cost = profile ? undefined : this.#settings.cost?.(inlined);
            if (cost) this.#output.probeCost(cost);
        }
        this.#addSymbols(symbols);
    }

    #addSymbols(bytes: Uint8Array): void {
        const { idBase, functions } = idsOf(bytes);
        const idEnd = idBase + functions;
        const other = this.#tables.find((table) => table.idBase < idEnd && idBase < table.idEnd);
        if (other && equalBytes(other.bytes, bytes)) return;
        if (other) {
            const ids = `${Math.max(idBase, other.idBase)} to ${Math.min(idEnd, other.idEnd) - 1}`;
            throw new Error(`kperf: two modules have the ids ${ids}; rewrite them together, or one with ids from ${other.idEnd}`);
        }
        this.#tables.push({ idBase, idEnd, bytes });
        if (!this.finished) this.#output.symbols(bytes);
    }
}
