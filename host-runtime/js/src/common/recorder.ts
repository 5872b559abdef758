/** One thread's part of a recording, and what JavaScript can do with it. */

import { HOST_MODULE, MODULE, Reason, SYMBOLS_SECTION } from './constants.js';
import { guard, type Exit } from './guard.js';
import { Lane, type TimeSource } from './lane.js';
import { HostSpans } from './spans.js';
import { activeSpan, equalParents, parentPayload, type AskParent, type Parent } from './parent.js';
import { Stacks } from './stacks.js';
import { Suspension, type Jspi } from './suspension.js';
import { equalBytes, readSymbols } from './symbols.js';
import type { Summary } from './trace.js';

/** Where a thread's part of a recording goes. */
export interface Output {
    /** A number for a recorder that nobody else has. */
    lane(): number;
    /** So many ids for functions of the host that no other thread has; the first of them. */
    ids(count: number): number;
    /** Takes a block; the bytes are only borrowed. */
    block(recorder: number, block: Uint8Array): void;
    /** Takes a symbol table, before the first events that need it. One that is known already is dropped. */
    symbols(table: Uint8Array): void;
    /** Takes what says whose children a recorder's next calls are: the payload of a `PRNT` chunk. */
    parent(recorder: number, payload: Uint8Array): void;
    /** Ends the recording, when the lane of the calling thread has ended. */
    finish(outcome: string): Summary | Promise<Summary>;
}

/** A function of a guest, or one that it imports. */
export type Guest = (...parameters: unknown[]) => unknown;

function jspi(): Jspi {
    if (!('promising' in WebAssembly)) throw new Error('kperf: this engine cannot suspend guests (WebAssembly.promising)');
    return WebAssembly as unknown as Jspi;
}

/** Records probed modules that are instantiated in this thread. */
export class Recorder {
    readonly lane: Lane;
    /** The lane's number in the trace. */
    readonly number: number;
    /** What keeps suspended stacks apart. */
    readonly suspension: Suspension;
    /** Is told when a WASI program calls `proc_exit`, before that does what it does. */
    onExit: ((code: number, exit: Exit) => void) | undefined;
    readonly #output: Output;
    /** What `setParent` was told. */
    #told: Parent | undefined;
    /** Whose children the calls are, as the trace says it last. */
    #parent: Parent | undefined;
    readonly #spans: HostSpans;
    /** The tables that are known, by their first id. */
    readonly #tables: { idBase: number; idEnd: number; bytes: Uint8Array }[] = [];
    #summary: Summary | Promise<Summary> | undefined;

    /**
     * `turn` is told when guests begin to run in a turn of the event loop, `parent` is asked then whose children their calls
     * are: the active span of `@opentelemetry/api` if nobody says.
     */
    constructor(output: Output, time: TimeSource, turn?: () => void, earlier?: SharedArrayBuffer, parent: AskParent = activeSpan) {
        this.number = output.lane();
        this.#output = output;
        const begin = (): void => {
            turn?.();
            this.#say(this.#told ?? parent());
        };
        this.lane = new Lane(time, (block) => output.block(this.number, block), begin, earlier);
        const stacks = new Stacks();
        this.#spans = new HostSpans(this.lane, output, stacks);
        this.suspension = new Suspension(this.lane, stacks);
    }

    /** Whether the recording has ended. */
    get finished(): boolean {
        return this.#summary !== undefined;
    }

    /**
     * The imports with which a probed module is instantiated: those given, and the recorder. For a module without probes
     * they are those given. Wants the module, or its bytes.
     *
     * Throws where the module has ids that another one has already: such modules are rewritten together, or with `--id-base`.
     */
    imports(imports: WebAssembly.Imports | undefined, module: WebAssembly.Module | BufferSource): WebAssembly.Imports {
        const compiled = module instanceof WebAssembly.Module ? module : new WebAssembly.Module(module);
        const sections = WebAssembly.Module.customSections(compiled, SYMBOLS_SECTION);
        const table = sections[0];
        if (!table) return imports ?? {};
        if (WebAssembly.Module.imports(compiled).some(({ module }) => module === HOST_MODULE)) {
            throw new Error('kperf: the module has its recorder inside (--probe inline), which hosts in JavaScript do not serve; rewrite it without');
        }
        this.#addSymbols(new Uint8Array(table));
        return { ...guard(imports ?? {}, this.lane, (code, exit) => this.onExit?.(code, exit)), [MODULE]: this.lane.imports };
    }

    /**
     * Calls a function; what guests have left open below it when it throws is closed at once, as trapped or as ended by
     * the host. (Without this, that is done when the present turn of the event loop ends.)
     */
    call<R>(call: () => R): R {
        const depth = this.lane.depth;
        try {
            return call();
        } catch (error) {
            this.lane.close(error instanceof WebAssembly.RuntimeError ? Reason.Trap : Reason.Host, depth);
            throw error;
        }
    }

    /**
     * Calls a function as a span of the timeline, among those of the guest. Where it returns a promise, a second span,
     * `NAME (await)`, lasts until that is settled.
     */
    span<R>(name: string, call: () => R): R {
        return this.#spans.run(name, call);
    }

    /** Stands for `WebAssembly.promising`: a function of a guest that may be suspended is recorded on a stack of its own. */
    promising(call: Guest): Guest {
        const started = jspi().promising(call);
        return (...parameters) => this.suspension.start(() => started(...parameters));
    }

    /** Stands for `new WebAssembly.Suspending`: an import that suspends the guest if it returns a promise. */
    suspending(call: Guest): object {
        return new (jspi().Suspending)((...parameters) => this.suspension.suspend(() => call(...parameters)));
    }

    /** Notes a point in time: a number of up to 26 bits, or a span without length that has a name. */
    mark(mark: number | string): void {
        if (typeof mark === 'number') this.lane.mark(mark);
        else this.#spans.run(mark, () => undefined);
    }

    /**
     * From here on the guest's calls are children of this span; with `undefined` the recorder asks again for itself, when
     * guests begin to run in a turn of the event loop. Where they run under several spans in one turn it has to be told.
     */
    setParent(parent: Parent | undefined): void {
        this.#told = parent;
        // The next event makes the recorder ask.
        this.lane.flush();
    }

    /** Hands over what this thread has recorded so far; full blocks are handed over anyway. */
    flush(): void {
        this.lane.flush();
    }

    /** Ends the recording. `outcome` says how the program ended: `completed`, `exit 3`, `trap: ...`. */
    async finish(outcome = 'completed'): Promise<Summary> {
        return this.#finish(outcome, Reason.Unfinished);
    }

    /** The same before it returns, where the sink can do that: a page's can't. */
    finishSync(outcome = 'completed', reason: Reason = Reason.Unfinished): Summary {
        const summary = this.#finish(outcome, reason);
        if (summary instanceof Promise) throw new Error('kperf: this sink can only be closed by finish()');
        return summary;
    }

    #finish(outcome: string, reason: Reason): Summary | Promise<Summary> {
        if (this.#summary === undefined) {
            this.lane.end(reason);
            this.#summary = this.#output.finish(outcome);
        }
        return this.#summary;
    }

    #say(parent: Parent | undefined): void {
        if (equalParents(parent, this.#parent)) return;
        this.#parent = parent;
        const payload = parentPayload(parent);
        if (!payload) return;
        this.lane.handOver();
        this.#output.parent(this.number, payload);
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
        this.#output.symbols(bytes);
    }
}
