/** The recorder inside a module (`kperf-wasm rewrite --probe inline`), through its instance's exports. Each instance is a lane. */

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

/** The exports of an instance with `EXPORT_PREFIX`. */
interface Inner {
    memory: WebAssembly.Memory;
    close: (reason: number, depth: number) => void;
    switch: (stack: number) => void;
    mark: (value: number) => void;
    flush: () => void;
    /** Upper 32 bits: the number of open frames. Lower: the address of the next word, 0 before the first event. */
    'state.head': Cell<bigint>;
    'state.stack': Cell<number>;
    'state.last': Cell<bigint>;
    /** The number of executed instructions, if the module counts them. */
    'state.instructions'?: Cell<bigint>;
}

/** Whether a module has an inlined recorder. */
export function isInlined(module: WebAssembly.Module): boolean {
    return importsOf(module).some(({ module, name }) => module === HOST_MODULE && name === HOST_FLUSH);
}

/** Whether a module's clock is the number of its executed instructions. */
export function countsInstructions(module: WebAssembly.Module): boolean {
    const isInlined = exportsOf(module).some(({ name }) => name === `${EXPORT_PREFIX}state.instructions`);
    return isInlined || importsOf(module).some(({ module, name }) => module === MODULE && name === 'instructions');
}

/** Throws if a module's inlined recorder is of another version. */
export function checkVersion(module: WebAssembly.Module): void {
    checkHead(exportsOf(module).some(({ name }) => name === `${EXPORT_PREFIX}state.head`));
}

function checkHead(hasHead: boolean): void {
    if (hasHead) return;
    throw new Error('kperf: the module was rewritten by another version: rewrite the original with this one');
}

/** The memory of an instance's inlined recorder, if it has one. */
export function innerMemory(exports: WebAssembly.Exports): WebAssembly.Memory | undefined {
    const memory = exports[`${EXPORT_PREFIX}memory`];
    return memory as WebAssembly.Memory | undefined;
}

/** Set while `expectedOf` finds out which `flush` an instance calls. */
let asked: { answer?: Expected } | undefined;

/** The expected instance that has these exports; `undefined` if it has come already. Restores the recorder's state. */
export function expectedOf(exports: WebAssembly.Exports): Expected | undefined {
    const { memory, flush, 'state.head': head } = inner(exports);
    // After `flush` the recorder begins a new block.
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

/** An instance that has its imports, but doesn't exist yet or wasn't attached. */
export class Expected {
    /** The module's imports from `kperf:host`. */
    readonly imports: WebAssembly.ModuleImports;
    readonly #time: TimeSource;
    #flush: ((length: number) => void) | undefined;
    #begun = false;
    /** Whether the module makes a profile. */
    readonly isProfile: boolean;

    constructor(time: TimeSource, isProfile = false) {
        this.#time = time;
        this.isProfile = isProfile;
        this.imports = { now: time.now, flush: (_address: number, length: number) => this.#full(length) };
    }

    /** Whether the instance has called the host. */
    get hasBegun(): boolean {
        return this.#begun;
    }

    /** Whether events were recorded, but the instance was never attached. */
    get isLost(): boolean {
        return this.#begun && this.#flush === undefined;
    }

    /** Makes the recorder of the instance that has come. */
    recorder(exports: WebAssembly.Exports): MakeRecorder {
        return (flush) => {
            this.#flush = flush;
            return new InlinedRecorder(exports, this.#time);
        };
    }

    #full(length: number): void {
        if (asked) return void (asked.answer ??= this);
        if (this.#flush) return this.#flush(length);
        // The start section runs, and the instance's memory can't be read before it ends.
        this.#begun = true;
        if (length === 0) return;
        throw new Error(
            'kperf: an instance with an inlined recorder was not attached: call kperf.attach(instance), ' +
                'or rewrite it with `--probe import` if its start section is running',
        );
    }
}

/** An inlined recorder. It doesn't keep the instance alive; after the instance only its memory is left. */
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
            // As an imported recorder begins. The first event writes the header.
            last.value = instructions?.value ?? (time.now as () => bigint)();
            setPosition(head, START + BLOCK_HEADER);
        }
        this.#clear = instantiate<{ clear: (from: number, to: number) => void }>(CLEAR, { js: { memory } }).clear;
        this.#clear(positionOf(head), START + CAPACITY);
        if (time.kind !== 'ticker') return;
        // Every event asks the host for the time until the ticker writes it.
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
        if (!head || !this.put(funcId)) return 0;
        head.value += FRAME;
        return depthOf(head);
    }

    leave(token: number): void {
        const head = this.#of('state.head');
        if (!head || depthOf(head) === 0 || token > depthOf(head)) return;
        if (token !== 0 && token < depthOf(head)) this.close(Reason.Caught, token);
        if (this.put(LEAVE)) head.value -= FRAME;
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
        // 0 asks the host until a ticker writes the time.
        new ClockCell(this.memory).clock = on ? 0n : CLOCK_OFF;
    }

    end(): void {
        this.#drop?.();
        this.#drop = undefined;
        this.setRecording(false);
    }

    /** Writes a word, and returns whether it did. Inlined probes can't be called from outside, so it writes a mark and replaces it. */
    put(word: number): boolean {
        const words = this.#words;
        // A full block is handed over first, so the mark may be the block's first word.
        this.mark(0);
        const at = this.position / 4 - 1;
        if (at < (START + BLOCK_HEADER) / 4 || words[at] !== MARK) return false;
        words[at] = word;
        return true;
    }

    /** An export of the instance, if that still exists. */
    #of<Name extends keyof Inner>(name: Name): Inner[Name] | undefined {
        return this.#exports.deref()?.[EXPORT_PREFIX + name] as Inner[Name] | undefined;
    }
}

/** One open frame in `state.head`. */
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
