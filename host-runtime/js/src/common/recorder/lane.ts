/** A lane: a recorder's memory, and what the host does to it. */

import { BLOCK_HEADER, CAPACITY, Reason, SAVED_DEPTHS, STACKS, START } from '../constants.js';
import { restOf } from './lane-reader.js';
import {
    ARMED, BLOCKS, CHANGES, CONTROL, EARLIER_ARMED, EARLIER_LENGTH, GIVES, GIVES_EARLIER, GIVES_OWN, SENT, type SharedLane,
} from './shared-lane.js';
import type { TickerWatch } from '../clock/ticker-watch.js';
import { RECORDER_TICKER } from '../wasm-source.js';

/** Where a recorder has its time from. */
export type TimeSource =
    /** `now() -> i64`, an export of a module: each event calls it. `halt` makes that cheap, and its answers worth nothing. */
    | { kind: 'precise'; now: WebAssembly.ExportValue; halt: (on: boolean) => void }
    /** Modules count their instructions, and want no time. To the host this clock stands still; a recorder beside them has their number. */
    | { kind: 'instructions'; now: WebAssembly.ExportValue; halt: (on: boolean) => void }
    /**
     * A memory that a ticker writes; `now` is called while the time in it is 0. `add` makes the ticker write to the front of a lane's
     * memory too, until what that answers is called; `watch` watches it for a recorder that loads the time from a memory. `oneMemory` is
     * the recorder, where the engine gives a module only one.
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

/** Takes a full block, or what there is. The bytes are only borrowed. */
export type TakeBlock = (block: Uint8Array) => void;

/** A recorder as the lane sees it, wherever its code is: a module beside the guest (beside.ts), or the guest's own (inside.ts). */
export interface LaneRecorder {
    readonly memory: WebAssembly.Memory;
    /** Whether all words behind its last one are marks, instead of a position in its memory. */
    readonly marked: boolean;
    /** If it has its time from a ticker. */
    readonly watch: TickerWatch | undefined;
    /** Where the next word goes. */
    position: number;
    /** How many frames of the running stack are open. */
    readonly depth: number;
    /** The stack that runs. */
    readonly stack: number;
    enter(funcId: number): number;
    leave(token: number): void;
    close(reason: number, depth: number): void;
    switch(stack: number): void;
    mark(value: number): void;
    /** The words up to an address are taken: if it is `marked`, marks come in their place. */
    clear(end: number): void;
    /** What events cost while it is off is all that matters: nobody takes them. */
    setRecording(on: boolean): void;
    /** Nothing is recorded any more. */
    end(): void;
}

/** Makes a recorder that says by `flush` that its block is full. */
export type MakeRecorder = (flush: (length: number) => void) => LaneRecorder;

/** Whether this engine takes modules with several memories. */
export const hasMultiMemory: boolean = WebAssembly.validate(RECORDER_TICKER);

/** One recorder's lane. Belongs to the thread that made it. */
export class Lane {
    /** With this another thread can read what this one has recorded. */
    readonly shared: SharedLane;
    readonly #words: Uint32Array;
    readonly #bytes: Uint8Array;
    readonly #recorder: LaneRecorder;
    readonly #take: TakeBlock;
    readonly #turn: (() => void) | undefined;
    /** What was recorded in turns of the event loop that are over: one block, as long as it fits. */
    readonly #earlier: Uint8Array;
    readonly #control: Int32Array;
    #on = true;
    #closed = false;
    readonly #settle = (): void => this.settle();

    /**
     * `turn` is called when the guest begins to run in a turn of the event loop. When the turn is over, its events move to
     * `earlier`, a `SharedArrayBuffer` if another thread is to see them. If the lane is not `on`, nothing is recorded until
     * somebody switches it on, not even the events of a start section.
     */
    constructor(seat: MakeRecorder, take: TakeBlock, turn?: () => void, earlier: SharedLane['earlier'] = new ArrayBuffer(CONTROL + CAPACITY), on = true) {
        this.#control = new Int32Array(earlier, 0, CONTROL / 4);
        this.#earlier = new Uint8Array(earlier, CONTROL);
        this.#take = take;
        this.#turn = turn;
        this.#recorder = seat((length) => this.#full(length));
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

    /** How many frames of the running stack are open. */
    get depth(): number {
        return this.#recorder.depth;
    }

    /** The stack that runs. */
    get stack(): number {
        return this.#recorder.stack;
    }

    /** How many frames of any stack are open. */
    depthOf(stack: number): number {
        return stack === this.stack ? this.depth : this.#words[SAVED_DEPTHS / 4 + stack]!;
    }

    /** Closes the frames deeper than `depth`. */
    close(reason: Reason, depth: number): void {
        this.#recorder.close(reason, depth);
    }

    /** Enters a function; answers the token. */
    enter(funcId: number): number {
        return this.#recorder.enter(funcId);
    }

    /** Leaves the frame with a token. */
    leave(token: number): void {
        this.#recorder.leave(token);
    }

    /** Notes a point in time, with a number of up to 26 bits. */
    mark(value: number): void {
        this.#recorder.mark(value);
    }

    /** From here on the events belong to another stack. */
    switch(stack: number): void {
        this.#recorder.switch(stack);
    }

    /** Hands over what is recorded so far. */
    flush(): void {
        this.#arm();
        this.handOver();
    }

    /** Hands over what was recorded in turns of the event loop that are over. */
    handOver(): void {
        this.#changes();
        this.#sendEarlier();
        this.#changes();
    }

    /** Called when no guest is on this thread's stack: frames that the outermost stack still has open were left by an exception. */
    settle(): void {
        if (this.#closed) return;
        this.#recorder.switch(0);
        this.#recorder.close(Reason.Host, 0);
        this.#arm();
    }

    /** Switches the recorder off or on again. What is open on any stack when it is switched off is closed as unfinished. */
    setRecording(on: boolean): void {
        if (this.#closed || on === this.#on) return;
        // ImportedRecorder a module the recorder counts calls on while it is off. Nobody shall find those open either.
        const { stack } = this;
        this.#closeAll(Reason.Unfinished);
        this.#recorder.switch(stack);
        if (on) this.#recorder.position = ARMED;
        else this.flush();
        this.#on = on;
        this.#recorder.setRecording(on);
    }

    /** Closes what is open on any stack, and hands over the rest. Nothing that comes after is kept. */
    end(reason: Reason): void {
        if (this.#closed) return;
        this.#closeAll(reason);
        this.flush();
        this.#closed = true;
        this.#recorder.end();
    }

    /** The recorder is gone: what its memory holds is handed over, with nothing open behind it. */
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

    /** What the recorder calls when its block is full, or seems so. */
    #full(length: number): void {
        // As armed as it was: other threads see nothing.
        if (!this.#on) return;
        if (this.#control[EARLIER_ARMED] === 1) {
            // The recorder begins a block when this returns; until then it has none, as its position says.
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
        // At last: it may have waited for the writer.
        this.#recorder.watch?.check();
    }

    /** Makes the next event hand the block over; what the block holds is put aside. */
    #arm(): void {
        if (this.#control[EARLIER_ARMED] === 1) return;
        this.#changes();
        const end = this.#recorder.position;
        this.#keepEarlier(end);
        // At once: a thread may be terminated wherever it calls something, and what is put aside is not shown twice.
        this.#control[EARLIER_ARMED] = 1;
        this.#recorder.clear(end);
        this.#recorder.position = ARMED;
        this.#changes();
        this.#recorder.watch?.end();
    }

    #keepEarlier(end: number): void {
        // Where one block ends the next one begins, at the same time and depth: without its header it goes on.
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

    /** Stops showing other threads what was handed over. */
    #given(): void {
        this.#control[GIVES] = 0;
    }

    /** What another thread sees from here on is not to be trusted; called again, it is. */
    #changes(): void {
        Atomics.add(this.#control, CHANGES, 1);
    }
}
