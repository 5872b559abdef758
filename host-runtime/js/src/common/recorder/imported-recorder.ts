/** The recorder whose functions probed modules import: an instance of guest-shim's. */

import { HOST_MODULE, MARK, MEMORY_PAGES, POSITION } from '../constants.js';
import { instantiate } from '../instantiate.js';
import type { LaneRecorder, TimeSource } from './lane.js';
import type { TickerWatch } from '../clock/ticker-watch.js';
import { COUNTER, RECORDER_PRECISE, RECORDER_TICKER } from '../wasm-source.js';

interface RecorderExports {
    enter: (funcId: number) => number;
    leave: (token: number) => void;
    unwind: (token: number) => void;
    close: (reason: number, depth: number) => void;
    switch: (stack: number) => void;
    mark: (value: number) => void;
    depth: () => number;
    allocating: (token: number) => void;
    allocated: (token: number, old: bigint, size: bigint, given: bigint) => void;
    grew: (memory: number, pages: bigint, before: bigint) => void;
    created: (size: bigint) => void;
    'state.stack': { readonly value: number };
}

interface Counter {
    instructions: WebAssembly.Global;
    now: WebAssembly.ExportValue;
}

export class ImportedRecorder implements LaneRecorder {
    readonly memory: WebAssembly.Memory;
    readonly marked = false;
    readonly watch: TickerWatch | undefined;
    /** The functions that a probed module imports from `kperf`. */
    readonly probes: Record<string, WebAssembly.ImportValue>;
    readonly enter: RecorderExports['enter'];
    readonly leave: RecorderExports['leave'];
    readonly close: RecorderExports['close'];
    readonly switch: RecorderExports['switch'];
    readonly mark: RecorderExports['mark'];
    readonly #words: Uint32Array;
    readonly #recorder: RecorderExports;
    readonly #halt: (on: boolean) => void;
    #drop: (() => void) | undefined;

    /** Calls `flush` when its block is full. */
    constructor(time: TimeSource, flush: (length: number) => void) {
        this.memory = new WebAssembly.Memory({ initial: MEMORY_PAGES, maximum: MEMORY_PAGES, shared: true });
        this.#words = new Uint32Array(this.memory.buffer);
        const host: WebAssembly.ModuleImports = { memory: this.memory, now: time.now, flush: (_address: number, length: number) => flush(length) };
        this.#halt = time.halt;
        let wasm = RECORDER_PRECISE;
        if (time.kind === 'ticker') {
            // An engine without multi-memory has the time in the lane's memory: 0 until the ticker writes it.
            wasm = time.oneMemory ?? RECORDER_TICKER;
            host['clock'] = time.clock;
            this.watch = time.watch?.(time.oneMemory ? this.memory : time.clock);
            if (time.oneMemory) this.#drop = time.add(this.memory);
        }
        let instructions: WebAssembly.ImportValue | undefined;
        if (time.kind === 'instructions') ({ instructions, now: host['now']! } = instantiate<Counter>(COUNTER, {}));
        this.#recorder = instantiate<RecorderExports>(wasm, { [HOST_MODULE]: host });
        const { enter, leave, unwind, depth, close, allocating, allocated, grew, created } = this.#recorder;
        ({ enter: this.enter, leave: this.leave, close: this.close, switch: this.switch, mark: this.mark } = this.#recorder);
        this.probes = { enter, leave, unwind, depth, close, allocating, allocated, grew, created, ...(instructions && { instructions }) };
    }

    get position(): number {
        return this.#words[POSITION / 4]!;
    }

    set position(position: number) {
        this.#words[POSITION / 4] = position;
    }

    get depth(): number {
        return this.#recorder.depth();
    }

    get stack(): number {
        return this.#recorder['state.stack'].value;
    }

    /** Writes a mark and replaces it. */
    put(word: number): void {
        this.mark(0);
        const at = this.position / 4 - 1;
        if (this.#words[at] === MARK) this.#words[at] = word;
    }

    clear(): void {}

    setRecording(on: boolean): void {
        this.#halt(!on);
    }

    end(): void {
        this.#drop?.();
        this.#drop = undefined;
    }
}
