/** The queue from all threads of a process to the one that writes: a ring of blocks in shared memory. No event loop is needed to get through. */

import { CAPACITY, HOST_IDS } from '../common/constants.js';
import { instantiate } from '../common/instantiate.js';
import { hasMultiMemory } from '../common/lane.js';
import { COPY } from '../common/wasm.js';

/** What the writer is told. */
export const Message = {
    Block: 1,
    /** A symbol table, in as many messages as it takes. */
    Symbols: 2,
    /** The payload of a `PRNT` chunk. */
    Parent: 5,
    /** How it ended: JSON. */
    Finish: 3,
    /** A lane has ended, and handed over what it had. */
    Ended: 4,
    /** What a probe costs: JSON. */
    ProbeCost: 6,
    /** The body of a `PROF`. */
    Window: 7,
    /** A block of slow calls of a profile. */
    Span: 8,
} as const;
export type Message = (typeof Message)[keyof typeof Message];

/** Words of the control block. */
const LOCK = 0;
const HEAD = 1;
const TAIL = 2;
const STATE = 3;
const LANES = 4;
const IDS = 5;
const STALLS = 6;
const LISTENS = 7;
const MEASURED = 8;
const REFUSES = 9;
/** From here on: two doubles, the stalls' nanoseconds together and the longest's; the writer's answer. */
const STALL_NANOS = 64;
const ANSWER = 128;
const CONTROL = 4096;

/** 32 MiB: room for eight million events. */
const SLOTS = 256;
/** How many of them have memory before the guest runs. */
const WARM = SLOTS / 2;
const PAGE = 4096;
/**
 * To wake a thread costs the one that wakes as much as ten thousand events: the writer is woken when so many blocks wait, and looks by
 * itself now and then; a sender for which there was no room, when so many slots are free.
 */
const WORTH_WAKING_WRITER = 16;
const WORTH_WAKING_SENDER = SLOTS / 4;
const SLOT_HEADER = 16;
const SLOT = SLOT_HEADER + CAPACITY;
const PAGES = Math.ceil((CONTROL + SLOTS * SLOT) / 65536);

/** Which part of a message a slot has. */
const FIRST = 2;
const MORE = 1;

/** How the writer is. */
const RUNS = 0;
const DONE = 1;
const GONE = 2;

/** A thread that was terminated while it held the lock will not give it back. */
const LOCK_TIMEOUT = 2000;

/** Copies so many bytes from an address to an address. */
type Copy = (to: number, from: number, length: number) => void;

/** A message as the writer sees it; the bytes are gone when it asks for the next. */
export interface Received {
    kind: Message;
    recorder: number;
    /** Whether it begins here: the one before may be cut off, by a thread that was terminated. */
    first: boolean;
    /** Whether more of it follows. */
    more: boolean;
    bytes: Uint8Array;
}

/** One end of the queue. Every thread makes its own of the same shared memory. */
export class Hub {
    /** What the ends share. */
    readonly memory: WebAssembly.Memory;
    /** The control block first. */
    readonly #words: Int32Array;
    readonly #stallNanos: Float64Array;
    readonly #bytes: Uint8Array;
    readonly #copiers = new WeakMap<ArrayBufferLike, Copy>();

    constructor(memory = new WebAssembly.Memory({ initial: PAGES, maximum: PAGES, shared: true })) {
        this.memory = memory;
        const { buffer } = memory;
        this.#words = new Int32Array(buffer);
        this.#stallNanos = new Float64Array(buffer, STALL_NANOS, 2);
        this.#bytes = new Uint8Array(buffer);
    }

    /** Blocks will come from this memory: then it takes half the time to copy them. */
    adopt(memory: WebAssembly.Memory): void {
        if (!hasMultiMemory) return;
        const { copy } = instantiate<{ copy: Copy }>(COPY, { js: { from: memory, to: this.memory } });
        this.#copiers.set(memory.buffer, copy);
    }

    /** A number for a lane. */
    lane(): number {
        return Atomics.add(this.#words, LANES, 1);
    }

    /** How many lanes there were. */
    get lanes(): number {
        return Atomics.load(this.#words, LANES);
    }

    /** The first of some ids for functions of the host. */
    ids(count: number): number {
        return HOST_IDS + Atomics.add(this.#words, IDS, count);
    }

    /** Whether nobody has measured yet what a probe costs; whoever asks first shall. */
    get isFirst(): boolean {
        return Atomics.exchange(this.#words, MEASURED, 1) === 0;
    }

    /** How often and how long threads waited for the writer. */
    get stalls(): { count: number; nanos: number; longest_nanos: number } {
        const [nanos, longest] = this.#stallNanos as unknown as [number, number];
        return { count: this.#words[STALLS]!, nanos: Math.round(nanos), longest_nanos: Math.round(longest) };
    }

    /** Sends a message; waits while the ring is full. Once the writer has ended, messages are dropped. */
    send(kind: Message, recorder: number, bytes: Uint8Array): void {
        this.#lock();
        for (let at = 0; at < bytes.length || at === 0; at += CAPACITY) {
            const part = bytes.subarray(at, at + CAPACITY);
            const slot = this.#place();
            if (slot === undefined) break;
            const header = this.#words.subarray(slot >> 2);
            header[0] = kind;
            header[1] = recorder;
            header[2] = part.length;
            header[3] = (at === 0 ? FIRST : 0) + (at + CAPACITY < bytes.length ? MORE : 0);
            const copy = this.#copiers.get(part.buffer);
            if (copy) copy(slot + SLOT_HEADER, part.byteOffset, part.length);
            else this.#bytes.set(part, slot + SLOT_HEADER);
            Atomics.add(this.#words, HEAD, 1);
            if (kind !== Message.Block || this.waiting >= WORTH_WAKING_WRITER) Atomics.notify(this.#words, HEAD);
        }
        Atomics.store(this.#words, LOCK, 0);
        Atomics.notify(this.#words, LOCK, 1);
    }

    /** The writer's thread runs, and hears of lanes. */
    listen(): void {
        Atomics.store(this.#words, LISTENS, 1);
        Atomics.notify(this.#words, LISTENS);
    }

    /** Takes memory for the slots that a burst of events needs: a sender would wait for it eight times as long as for its own writing. */
    warm(): void {
        for (let at = 0; at < slotOf(WARM); at += PAGE) Atomics.add(this.#words, at >> 2, 0);
    }

    /** Waits until the writer's thread runs, for so many milliseconds at most. */
    waitForWriter(milliseconds: number): void {
        Atomics.wait(this.#words, LISTENS, 0, milliseconds);
    }

    /** The next message; waits for one, for so many milliseconds at most. A few blocks may be there and be noticed only then. */
    receive(milliseconds: number): Received | undefined {
        const tail = this.#words[TAIL]!;
        while (this.waiting === 0) {
            const waited = Atomics.wait(this.#words, HEAD, tail, milliseconds);
            if (waited === 'timed-out' && this.waiting === 0) return undefined;
        }
        const slot = slotOf(tail);
        const [kind, recorder, length, part] = this.#words.subarray(slot >> 2) as unknown as [Message, number, number, number];
        const bytes = this.#bytes.subarray(slot + SLOT_HEADER, slot + SLOT_HEADER + length);
        return { kind, recorder, first: (part & FIRST) !== 0, more: (part & MORE) !== 0, bytes };
    }

    /** The message that was received last is done with. */
    done(): void {
        Atomics.add(this.#words, TAIL, 1);
        if (this.waiting <= SLOTS - WORTH_WAKING_SENDER) Atomics.notify(this.#words, TAIL);
    }

    /** From here on messages are dropped. Those that have their place come. */
    refuse(): void {
        Atomics.store(this.#words, REFUSES, 1);
        Atomics.notify(this.#words, TAIL);
    }

    /** The writer has ended; what it says of that in JSON. */
    answer(text: string): void {
        const bytes = new TextEncoder().encode(text).subarray(0, CONTROL - ANSWER - 4);
        this.#words[ANSWER >> 2] = bytes.length;
        this.#bytes.set(bytes, ANSWER + 4);
        this.#end(DONE);
    }

    /** The writer's thread is gone, with an answer or without. */
    gone(): void {
        if (Atomics.load(this.#words, STATE) === RUNS) this.#end(GONE);
    }

    /** Waits until the writer has ended. `undefined` if it did so without an answer, or takes more than `milliseconds`. */
    wait(milliseconds: number): string | undefined {
        Atomics.wait(this.#words, STATE, RUNS, milliseconds);
        if (Atomics.load(this.#words, STATE) !== DONE) return undefined;
        const length = this.#words[ANSWER >> 2]!;
        return new TextDecoder().decode(this.#bytes.slice(ANSWER + 4, ANSWER + 4 + length));
    }

    /** How many messages the writer isn't done with. */
    get waiting(): number {
        return (Atomics.load(this.#words, HEAD) - Atomics.load(this.#words, TAIL)) | 0;
    }

    #end(state: number): void {
        Atomics.store(this.#words, STATE, state);
        // Nor is its start worth waiting for.
        Atomics.store(this.#words, LISTENS, 1);
        for (const awaited of [STATE, TAIL, LISTENS]) Atomics.notify(this.#words, awaited);
    }

    #lock(): void {
        while (Atomics.compareExchange(this.#words, LOCK, 0, 1) !== 0) {
            const head = Atomics.load(this.#words, HEAD);
            // Who has it may wait for room, and not have seen yet that there is some.
            const hadRoom = this.waiting < SLOTS;
            const waited = Atomics.wait(this.#words, LOCK, 1, LOCK_TIMEOUT);
            if (waited === 'timed-out' && hadRoom && head === Atomics.load(this.#words, HEAD)) return;
        }
    }

    /** Where the next message goes; waits until there is room, and counts that. */
    #place(): number | undefined {
        const head = this.#words[HEAD]!;
        let begin = 0;
        for (let tail; ((head - (tail = Atomics.load(this.#words, TAIL))) | 0) >= SLOTS; ) {
            if (!this.#takes) return undefined;
            begin ||= performance.now();
            Atomics.wait(this.#words, TAIL, tail, 1000);
        }
        if (begin > 0) {
            const nanos = (performance.now() - begin) * 1e6;
            this.#words[STALLS]! += 1;
            this.#stallNanos[0]! += nanos;
            this.#stallNanos[1] = Math.max(this.#stallNanos[1]!, nanos);
        }
        return this.#takes ? slotOf(head) : undefined;
    }

    get #takes(): boolean {
        return Atomics.load(this.#words, STATE) === RUNS && Atomics.load(this.#words, REFUSES) === 0;
    }
}

function slotOf(number: number): number {
    return CONTROL + (number & (SLOTS - 1)) * SLOT;
}
