/** A recorder's lane: takes its blocks, and arms it between turns of the event loop. */

import { BLOCK_HEADER, CAPACITY, Reason, SAVED_DEPTHS, STACKS, START, WAIT } from '../constants.js';
import { restOf } from './lane-reader.js';
import {
    ARMED, BLOCKS, CHANGES, CONTROL, EARLIER_ARMED, EARLIER_LENGTH, GIVES, GIVES_EARLIER, GIVES_OWN, SENT, type SharedLane,
} from './shared-lane.js';
import type { TickerWatch } from '../clock/ticker-watch.js';
import { RECORDER_TICKER } from '../wasm-source.js';

/** Tag of a wait of the thread itself, and the largest number in one. */
const OWN_WAIT = WAIT + 2 ** 23, WAIT_BITS = 2 ** 22 - 1;

/** A recorder's source of time. */
export type TimeSource =
    /**
     * Each event calls `now() -> i64`, an export of a module. `halt` makes it cheap; its results then mean nothing. With `instructions` modules
     * count theirs, the host's clock stands still, and an imported recorder has the count.
     */
    | { kind: 'precise' | 'instructions'; now: WebAssembly.ExportValue; halt: (on: boolean) => void }
    /**
     * A ticker writes the time to `clock`. Recorders call `now` while it is 0. `add` makes the ticker write to another memory, until the
     * returned function is called. `watch` watches the ticker for a recorder. `oneMemory` is the recorder for engines without multi-memory.
     */
    | {
          kind: 'ticker';
          clock: WebAssembly.Memory;
          now: WebAssembly.ExportValue;
          halt: (on: boolean) => void;
          add: (memory: WebAssembly.Memory) => () => void;
          watch?: (cell: WebAssembly.Memory) => TickerWatch;
          oneMemory?: Uint8Array<ArrayBuffer>;
      };

/** Takes a block. The bytes are only borrowed. */
export type TakeBlock = (block: Uint8Array) => void;

/** An imported or inlined recorder. */
export interface LaneRecorder {
    readonly memory: WebAssembly.Memory;
    /** Whether end marks follow its last word; otherwise its memory has the position. */
    readonly marked: boolean;
    /** Set if it has its time from a ticker. */
    readonly watch: TickerWatch | undefined;
    /** Address of the next word. */
    position: number;
    /** The number of open frames of the running stack. */
    readonly depth: number;
    /** The running stack. */
    readonly stack: number;
    enter(funcId: number): number;
    leave(token: number): void;
    close(reason: number, depth: number): void;
    switch(stack: number): void;
    mark(value: number): void;
    /** Writes a word that no probe writes. */
    put(word: number): void;
    /** The block was taken up to `end`: writes end marks there if it is `marked`. */
    clear(end: number): void;
    /** Makes events cheap while recording is off: they are dropped. */
    setRecording(on: boolean): void;
    /** Ends recording. */
    end(): void;
}

/** Makes a recorder that calls `flush` when its block is full. */
export type MakeRecorder = (flush: (length: number) => void) => LaneRecorder;

/** Whether the engine has multi-memory. */
export const hasMultiMemory: boolean = WebAssembly.validate(RECORDER_TICKER);

/** Belongs to the thread that made it. */
export class Lane {
    /** For other threads, which read the lane. */
    readonly shared: SharedLane;
    readonly #words: Uint32Array;
    readonly #bytes: Uint8Array;
    readonly #recorder: LaneRecorder;
    readonly #take: TakeBlock;
    readonly #turn: (() => void) | undefined;
    /** Events of earlier turns of the event loop, as one block. */
    readonly #earlier: Uint8Array;
    readonly #control: Int32Array;
    #on = true;
    #closed = false;
    readonly #settle = (): void => this.settle();

    /**
     * Calls `turn` when the guest begins to run in a turn of the event loop. After the turn its events move to `earlier`, which is a
     * `SharedArrayBuffer` if other threads read them. If the lane is not `on`, it drops all events, including those of a start section,
     * until `setRecording(true)`.
     */
    constructor(makeRecorder: MakeRecorder, take: TakeBlock, turn?: () => void, earlier: SharedLane['earlier'] = new ArrayBuffer(CONTROL + CAPACITY), on = true) {
        this.#control = new Int32Array(earlier, 0, CONTROL / 4);
        this.#earlier = new Uint8Array(earlier, CONTROL);
        this.#take = take;
        this.#turn = turn;
        this.#recorder = makeRecorder((length) => this.#full(length));
        const { memory, marked } = this.#recorder;
        this.#words = new Uint32Array(memory.buffer);
        this.#bytes = new Uint8Array(memory.buffer);
        this.shared = { memory, marked, earlier };
        if (!on) this.#closeAll(Reason.Unfinished);
        this.#arm();
        if (on) return;
        this.#control[EARLIER_LENGTH] = 0;
        this.setRecording(false);
    }

    get depth(): number {
        return this.#recorder.depth;
    }

    get stack(): number {
        return this.#recorder.stack;
    }

    depthOf(stack: number): number {
        return stack === this.stack ? this.depth : this.#words[SAVED_DEPTHS / 4 + stack]!;
    }

    readonly enter = (funcId: number): number => this.#recorder.enter(funcId);
    readonly leave = (token: number): void => this.#recorder.leave(token);
    readonly close = (reason: Reason, depth: number): void => this.#recorder.close(reason, depth);
    readonly switch = (stack: number): void => this.#recorder.switch(stack);
    readonly mark = (value: number): void => this.#recorder.mark(value);

    /** Writes a wait of the running stack that ends now. */
    wait(ticks: number): void {
        if (this.#closed || !this.#on || this.depth === 0) return;
        // A word has 22 bits of it, and the unit. Readers add them up.
        const large = Math.min(WAIT_BITS, Math.floor(ticks / 2 ** 22));
        const small = ticks % 2 ** 22;
        if (large > 0) this.#recorder.put(OWN_WAIT + 2 ** 22 + large);
        if (small > 0) this.#recorder.put(OWN_WAIT + small);
    }

    /** Hands over everything recorded so far. */
    flush(): void {
        this.#arm();
        this.handOver();
    }

    /** Hands over the events of earlier turns. */
    handOver(): void {
        this.#changes();
        this.#sendEarlier();
        this.#changes();
    }

    /** Closes frames that an exception left open. Called when no guest is on the thread's stack. */
    settle(): void {
        if (this.#closed) return;
        this.#recorder.switch(0);
        this.#recorder.close(Reason.Host, 0);
        this.#arm();
    }

    /**
     * Makes the next event call `turn`, if no guest is on the thread's stack. Returns whether it does. In an outermost change no guest is,
     * unless it resumes next on a stack of its own.
     */
    pause(change: 'outermost' | 'nested'): boolean {
        if (this.#closed) return true;
        if (this.depth === 0) this.#arm();
        else if (change === 'outermost' && this.stack === 0) this.settle();
        else return false;
        return true;
    }

    /** Switches recording off or on. Switching off closes the open frames of all stacks as unfinished. */
    setRecording(on: boolean): void {
        if (this.#closed || on === this.#on) return;
        // An imported recorder goes on counting depths while it is off. Those calls must not stay open.
        const { stack } = this;
        this.#closeAll(Reason.Unfinished);
        this.#recorder.switch(stack);
        if (on) this.#recorder.position = ARMED;
        else this.flush();
        this.#on = on;
        this.#recorder.setRecording(on);
    }

    /** Closes the open frames of all stacks and hands over the rest. Later events are dropped. */
    end(reason: Reason): void {
        if (this.#closed) return;
        this.#closeAll(reason);
        this.flush();
        this.#closed = true;
        this.#recorder.end();
    }

    /** Hands over the memory of a recorder that is gone, with all frames closed. */
    retire(reason: Reason): void {
        if (this.#closed) return;
        this.#changes();
        const rest = restOf(this.shared, reason, 0);
        if (rest) this.#give(rest, GIVES_EARLIER | GIVES_OWN);
        this.#control[EARLIER_LENGTH] = 0;
        this.#control[EARLIER_ARMED] = 1;
        this.#given();
        this.#changes();
        this.#closed = true;
        this.#recorder.watch?.end();
        this.#recorder.end();
    }

    #closeAll(reason: Reason): void {
        this.#recorder.close(reason, 0);
        for (let stack = 0; stack < STACKS; stack++) {
            if (this.depthOf(stack) === 0) continue;
            this.#recorder.switch(stack);
            this.#recorder.close(reason, 0);
        }
    }

    /** Called by the recorder when its block is full, or when it is armed. */
    #full(length: number): void {
        // It stays armed, so other threads see no events.
        if (!this.#on) return;
        if (this.#control[EARLIER_ARMED] === 1) {
            // The recorder begins a block after this returns. Until then its position says that there is none.
            this.#control[EARLIER_ARMED] = 0;
            if (this.#closed) return;
            this.#recorder.watch?.begin();
            this.#turn?.();
            queueMicrotask(this.#settle);
            return;
        }
        if (this.#closed || length <= BLOCK_HEADER) return;
        this.#changes();
        this.#control[SENT] = 0;
        this.#sendEarlier();
        this.#give(this.#bytes.subarray(START, START + length), GIVES_OWN);
        this.#recorder.clear(START + length);
        this.#control[SENT] = 1;
        this.#given();
        this.#changes();
        // After the block: handing it over may have waited for the writer.
        this.#recorder.watch?.check();
    }

    /** Makes the next event call `flush`, and moves the block to `earlier`. */
    #arm(): void {
        if (this.#control[EARLIER_ARMED] === 1) return;
        this.#changes();
        const end = this.#recorder.position;
        this.#keepEarlier(end);
        // Immediately: a thread may be terminated at any call, and must not show these events twice.
        this.#control[EARLIER_ARMED] = 1;
        this.#recorder.clear(end);
        this.#recorder.position = ARMED;
        this.#changes();
        this.#recorder.watch?.end();
    }

    #keepEarlier(end: number): void {
        // A block continues the one before at the same time and depth, so its header is left out.
        const words = end - START - BLOCK_HEADER;
        if (words === 0) return;
        if (this.#control[EARLIER_LENGTH]! + words > CAPACITY) this.#sendEarlier();
        const length = this.#control[EARLIER_LENGTH]!;
        const begin = length === 0 ? START : START + BLOCK_HEADER;
        this.#earlier.set(this.#bytes.subarray(begin, end), length);
        this.#control[EARLIER_LENGTH] = length + end - begin;
    }

    #sendEarlier(): void {
        const length = this.#control[EARLIER_LENGTH]!;
        if (length === 0) return;
        this.#give(this.#earlier.subarray(0, length), GIVES_EARLIER);
        this.#control[EARLIER_LENGTH] = 0;
        this.#given();
    }

    #give(block: Uint8Array, what: number): void {
        this.#control[BLOCKS]! += 1;
        this.#control[GIVES] = what;
        this.#take(block);
    }

    #given(): void {
        this.#control[GIVES] = 0;
    }

    /** Called before and after each change that other threads must not see half done. */
    #changes(): void {
        Atomics.add(this.#control, CHANGES, 1);
    }
}
