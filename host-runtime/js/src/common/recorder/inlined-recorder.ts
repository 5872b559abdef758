/** The recorder inside of a module (`kperf-wasm rewrite --probe inline`): what its instance shows of it. Each instance is a lane. */

import { BLOCK_HEADER, CAPACITY, CLOCK_OFF, EXPORT_PREFIX, HOST_FLUSH, HOST_MODULE, LEAVE, MARK, MODULE, Reason, START } from '../constants.js';
import { exportsOf, importsOf } from '../engine.js';
import { markedEnd } from './lane-reader.js';
import { ClockCell } from '../clock/clock-cell.js';
import { instantiate } from '../instantiate.js';
import type { MakeRecorder, LaneRecorder, TimeSource } from './lane.js';
import { ARMED } from './shared-lane.js';
import type { TickerWatch } from '../clock/ticker-watch.js';
import { CLEAR } from '../wasm-source.js';

interface Cell<Value> {
    value: Value;
}

/** What an instance exports, behind `EXPORT_PREFIX`. */
interface Inner {
    memory: WebAssembly.Memory;
    close: (reason: number, depth: number) => void;
    switch: (stack: number) => void;
    mark: (value: number) => void;
    flush: () => void;
    /** How many frames are open, and below 32 bits where the next word goes (0 before the first event). */
    'state.head': Cell<bigint>;
    'state.stack': Cell<number>;
    'state.last': Cell<bigint>;
    /** How many instructions it has executed, if it counts them. */
    'state.instructions'?: Cell<bigint>;
}

/** Whether a module has its recorder inside. */
export function isInlined(module: WebAssembly.Module): boolean {
    return importsOf(module).some(({ module, name }) => module === HOST_MODULE && name === HOST_FLUSH);
}

/** Whether a module counts the instructions that it executes, which are its clock. */
export function countsInstructions(module: WebAssembly.Module): boolean {
    const inside = exportsOf(module).some(({ name }) => name === `${EXPORT_PREFIX}state.instructions`);
    return inside || importsOf(module).some(({ module, name }) => module === MODULE && name === 'instructions');
}

/** Fails if the recorder inside of a module is another version's, of which nobody would know what it records. */
export function checkVersion(module: WebAssembly.Module): void {
    checkHead(exportsOf(module).some(({ name }) => name === `${EXPORT_PREFIX}state.head`));
}

function checkHead(hasHead: boolean): void {
    if (hasHead) return;
    throw new Error('kperf: a module has the recorder of another version inside: rewrite the original with this one');
}

/** The memory of an instance's own recorder, if it has one. */
export function innerMemory(exports: WebAssembly.Exports): WebAssembly.Memory | undefined {
    const memory = exports[`${EXPORT_PREFIX}memory`];
    return memory as WebAssembly.Memory | undefined;
}

/** Set while we find out which `flush` an instance calls. */
let asked: { answer?: Expected } | undefined;

/** Which of the expected instances this is; none if it has come already. Leaves it as it was. */
export function expectedOf(exports: WebAssembly.Exports): Expected | undefined {
    const { memory, flush, 'state.head': head } = inner(exports);
    // The recorder begins its block anew when `flush` has taken what seems to be in it.
    const header = new Uint8Array(memory.buffer, START, BLOCK_HEADER + 4);
    const [kept, before] = [header.slice(), head.value];
    const asking: typeof asked = (asked = {});
    setPosition(head, ARMED);
    try {
        flush();
    } finally {
        asked = undefined;
        head.value = before;
        header.set(kept);
    }
    return asking.answer;
}

/** An instance to come: what it imports is made before it, and its memory seen when it is there. */
export class Expected {
    /** What the module imports from `kperf:host`. */
    readonly imports: WebAssembly.ModuleImports;
    readonly #time: TimeSource;
    #flush: ((length: number) => void) | undefined;
    #begun = false;
    /** Whether the module makes a profile. */
    readonly isProfile: boolean;

    /** `clock` is where it has its time from. */
    constructor(time: TimeSource, isProfile = false) {
        this.#time = time;
        this.isProfile = isProfile;
        this.imports = { now: time.now, flush: (_address: number, length: number) => this.#full(length) };
    }

    /** Whether it has begun. */
    get hasBegun(): boolean {
        return this.#begun;
    }

    /** Whether something was recorded that nobody can see: no instance came. */
    get isLost(): boolean {
        return this.#begun && this.#flush === undefined;
    }

    /** The instance is there. */
    seat(exports: WebAssembly.Exports): MakeRecorder {
        return (flush) => {
            this.#flush = flush;
            return new InlinedRecorder(exports, this.#time);
        };
    }

    #full(length: number): void {
        if (asked) return void (asked.answer ??= this);
        if (this.#flush) return this.#flush(length);
        // Its start section runs: what is recorded stands in a memory that can't be seen before that has ended.
        this.#begun = true;
        if (length === 0) return;
        throw new Error(
            'kperf: a module that has its recorder inside records, and nobody knows its instance: ' +
                'tell the recorder (kperf.attach(instance)), or, if that is its start section still, rewrite it with `--probe import`',
        );
    }
}

/** A recorder that is a part of a module. It doesn't keep the instance alive; when that is gone, the memory is all there is. */
class InlinedRecorder implements LaneRecorder {
    readonly memory: WebAssembly.Memory;
    readonly marked = true;
    readonly watch: TickerWatch | undefined;
    readonly #exports: WeakRef<WebAssembly.Exports>;
    readonly #words: Uint32Array;
    readonly #clear: (from: number, to: number) => void;
    #drop: (() => void) | undefined;

    constructor(exports: WebAssembly.Exports, time: TimeSource) {
        this.#exports = new WeakRef(exports);
        const { memory, 'state.last': last, 'state.head': head, 'state.instructions': instructions } = inner(exports);
        this.memory = memory;
        this.#words = new Uint32Array(memory.buffer);
        if (positionOf(head) === 0) {
            // As a recorder beside the module does when it begins. The header is written at the first event.
            last.value = instructions?.value ?? (time.now as () => bigint)();
            setPosition(head, START + BLOCK_HEADER);
        }
        this.#clear = instantiate<{ clear: (from: number, to: number) => void }>(CLEAR, { js: { memory } }).clear;
        this.#clear(positionOf(head), START + CAPACITY);
        if (time.kind !== 'ticker') return;
        // Until the ticker has heard of it, or if none runs yet, the host is asked at every event.
        this.watch = time.watch?.(memory);
        this.#drop = time.add(memory);
    }

    get position(): number {
        const head = this.#of('state.head');
        return head ? positionOf(head) : markedEnd(this.#words);
    }

    set position(value: number) {
        const head = this.#of('state.head');
        if (head) setPosition(head, value);
    }

    get depth(): number {
        const head = this.#of('state.head');
        return head ? depthOf(head) : 0;
    }

    get stack(): number {
        return this.#of('state.stack')?.value ?? 0;
    }

    enter(funcId: number): number {
        const head = this.#of('state.head');
        if (!head || !this.#put(funcId)) return 0;
        head.value += FRAME;
        return depthOf(head);
    }

    leave(token: number): void {
        const head = this.#of('state.head');
        if (!head || depthOf(head) === 0 || token > depthOf(head)) return;
        if (token !== 0 && token < depthOf(head)) this.close(Reason.Caught, token);
        if (this.#put(LEAVE)) head.value -= FRAME;
    }

    close(reason: number, depth: number): void {
        this.#of('close')?.(reason, depth);
    }

    switch(stack: number): void {
        this.#of('switch')?.(stack);
    }

    mark(value: number): void {
        this.#of('mark')?.(value);
    }

    clear(end: number): void {
        this.#clear(START + BLOCK_HEADER, end);
    }

    setRecording(on: boolean): void {
        // Until the ticker has written the time, or where there is none, the host is asked for it.
        new ClockCell(this.memory).clock = on ? 0n : CLOCK_OFF;
    }

    end(): void {
        this.#drop?.();
        this.#drop = undefined;
        this.setRecording(false);
    }

    /** Its probes can't be called from outside, but it writes marks: another word takes a mark's room. */
    #put(word: number): boolean {
        const words = this.#words;
        // A full block is handed over before the mark is written, so that stands at the beginning then.
        this.mark(0);
        const at = this.position / 4 - 1;
        if (at < (START + BLOCK_HEADER) / 4 || words[at] !== MARK) return false;
        words[at] = word;
        return true;
    }

    /** What the instance exports, if it is still there. */
    #of<Name extends keyof Inner>(name: Name): Inner[Name] | undefined {
        return this.#exports.deref()?.[EXPORT_PREFIX + name] as Inner[Name] | undefined;
    }
}

/** What one open frame is in `state.head`. */
const FRAME = 1n << 32n;

function depthOf({ value }: Cell<bigint>): number {
    return Number(BigInt.asUintN(32, value >> 32n));
}

function positionOf({ value }: Cell<bigint>): number {
    return Number(BigInt.asUintN(32, value));
}

function setPosition(head: Cell<bigint>, position: number): void {
    head.value = ((head.value >> 32n) << 32n) | BigInt(position);
}

function inner(exports: WebAssembly.Exports): Inner {
    const found: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(exports)) {
        if (name.startsWith(EXPORT_PREFIX)) found[name.slice(EXPORT_PREFIX.length)] = value;
    }
    checkHead('state.head' in found);
    return found as unknown as Inner;
}
