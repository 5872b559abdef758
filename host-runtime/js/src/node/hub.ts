/** The queue from all threads of a process to the writer's: a ring of blocks in shared memory, which needs no event loop. */

import { CAPACITY, HOST_IDS } from '../common/constants.js';
import { instantiate } from '../common/instantiate.js';
import { hasMultiMemory } from '../common/recorder/lane.js';
import { COPY } from '../common/wasm-source.js';

/** Kinds of messages to the writer. */
export const Message = {
    Block: 1,
    /** A symbol table, in as many messages as it needs. */
    Symbols: 2,
    /** The payload of a `PRNT` chunk. */
    Parent: 5,
    /** The end of the recording: JSON. */
    Finish: 3,
    /** A lane has ended and handed over everything. */
    Ended: 4,
    /** The cost of a probe: JSON. */
    ProbeCost: 6,
    /** The body of a `PROF`. */
    Window: 7,
    /** A block of slow calls of a profile. */
    Span: 8,
    /** The recording's clock: JSON. */
    Clock: 9,
    /** A sentence for the trace's reports. */
    Note: 10,
} as const;
export type Message = (typeof Message)[keyof typeof Message];

/** Words of the control block. */
const LOCK = 0, HEAD = 1, TAIL = 2, STATE = 3, LANES = 4, IDS = 5, STALLS = 6, LISTENS = 7, MEASURED = 8, REFUSES = 9;
/** Addresses of two doubles, the nanoseconds of all stalls and of the longest, and of the writer's result. */
const STALL_NANOS = 64, RESULT = 128, CONTROL = 4096;

/** 32 MiB: room for eight million events. */
const SLOTS = 256;
/** The number of slots that get memory before the guest runs. */
const WARM = SLOTS / 2;
const PAGE = 4096;
/**
 * Waking a thread costs as much as ten thousand events. So the writer is woken only when this many blocks wait (it also looks
 * periodically), and a waiting sender only when this many slots are free.
 */
const WORTH_WAKING_WRITER = 16;
const WORTH_WAKING_SENDER = SLOTS / 4;
const SLOT_HEADER = 16;
const SLOT = SLOT_HEADER + CAPACITY;
const PAGES = Math.ceil((CONTROL + SLOTS * SLOT) / 65536);

/** Bits of a slot: it has the first part of a message; more parts follow. */
const FIRST = 2, MORE = 1;

/** What happens to later messages. */
const DROPS = 1, PARKS = 2;

/** The writer's state. */
const RUNS = 0, DONE = 1, GONE = 2;

/** Milliseconds after which the thread that holds the lock counts as terminated. */
const LOCK_TIMEOUT = 2000;

/** Copies `length` bytes from one address to another. */
type Copy = (to: number, from: number, length: number) => void;

/** A part of a message. Its bytes are valid until `done`. */
export interface Received {
    kind: Message;
    recorder: number;
    /** Whether it is the message's first. The message before may be cut off, if its thread was terminated. */
    first: boolean;
    /** Whether more parts follow. */
    more: boolean;
    bytes: Uint8Array;
}

/** One end of the queue; each thread has its own. */
export class Hub {
    readonly memory: WebAssembly.Memory;
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

    /** Announces a memory of blocks, which makes copying them twice as fast. */
    adopt(memory: WebAssembly.Memory): void {
        if (!hasMultiMemory) return;
        const { copy } = instantiate<{ copy: Copy }>(COPY, { js: { from: memory, to: this.memory } });
        this.#copiers.set(memory.buffer, copy);
    }

    /** Allocates a lane's number. */
    lane(): number {
        return Atomics.add(this.#words, LANES, 1);
    }

    /** The number of lanes so far. */
    get lanes(): number {
        return Atomics.load(this.#words, LANES);
    }

    /** Allocates ids of host functions, and returns the first. */
    ids(count: number): number {
        return HOST_IDS + Atomics.add(this.#words, IDS, count);
    }

    /** True for the first caller, which measures the cost of a probe. */
    get isFirst(): boolean {
        return Atomics.exchange(this.#words, MEASURED, 1) === 0;
    }

    /** The waits of threads for the writer. */
    get stalls(): { count: number; nanos: number; longest_nanos: number } {
        const [nanos, longest] = this.#stallNanos as unknown as [number, number];
        return { count: this.#words[STALLS]!, nanos: Math.round(nanos), longest_nanos: Math.round(longest) };
    }

    /** Sends a message; waits while the ring is full. Drops it if the writer has ended, or after `Finish`. */
    send(kind: Message, recorder: number, bytes: Uint8Array): void {
        // Otherwise other threads, which go on, would fill the ring again and again.
        if (kind === Message.Finish) this.refuse();
        else if (this.#isParked) return this.#park();
        this.#lock();
        let hasRoom = true;
        for (let at = 0; at < bytes.length || at === 0; at += CAPACITY) {
            const part = bytes.subarray(at, at + CAPACITY);
            const slot = this.#place(kind);
            hasRoom = slot !== undefined;
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
        // The lane still has the block, and the writer reads it there.
        if (!hasRoom && this.#isParked) this.#park();
    }

    /** Notes that the writer runs and listens for lanes. */
    listen(): void {
        Atomics.store(this.#words, LISTENS, 1);
        Atomics.notify(this.#words, LISTENS);
    }

    /** Whether the writer's thread runs. */
    get isHeard(): boolean {
        return Atomics.load(this.#words, LISTENS) === 1;
    }

    /** Touches the memory of the slots that a burst of events needs. For a sender a fresh page takes eight times as long as writing it. */
    warm(): void {
        for (let at = 0; at < slotOf(WARM); at += PAGE) Atomics.add(this.#words, at >> 2, 0);
    }

    /** Waits until the writer's thread runs, for so many milliseconds at most. */
    waitForWriter(milliseconds: number): void {
        Atomics.wait(this.#words, LISTENS, 0, milliseconds);
    }

    /** The next message. Waits for one, for so many milliseconds at most. If few blocks wait, they may be noticed only at the end of that time. */
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

    /** Frees the slot of the last part. */
    done(): void {
        Atomics.add(this.#words, TAIL, 1);
        if (this.waiting <= SLOTS - WORTH_WAKING_SENDER) Atomics.notify(this.#words, TAIL);
    }

    /** Drops later messages, except `Finish`. Those that have a slot still come. */
    refuse(): void {
        Atomics.compareExchange(this.#words, REFUSES, 0, DROPS);
        Atomics.notify(this.#words, TAIL);
    }

    /** Makes later messages wait until the writer has ended, and drops them then: their threads leave the processors to the writer. */
    park(): void {
        Atomics.store(this.#words, REFUSES, PARKS);
        Atomics.notify(this.#words, TAIL);
    }

    /** Notes that the writer has ended, with its result as JSON. */
    answer(text: string): void {
        const bytes = new TextEncoder().encode(text).subarray(0, CONTROL - RESULT - 4);
        this.#words[RESULT >> 2] = bytes.length;
        this.#bytes.set(bytes, RESULT + 4);
        this.#end(DONE);
    }

    /** Notes that the writer's thread has ended, with or without a result. */
    gone(): void {
        if (Atomics.load(this.#words, STATE) === RUNS) this.#end(GONE);
    }

    /** Whether the writer has ended. */
    get isOver(): boolean {
        return Atomics.load(this.#words, STATE) !== RUNS;
    }

    /** Waits for the writer's result. `undefined` if there is none, or after `milliseconds`. */
    wait(milliseconds: number): string | undefined {
        Atomics.wait(this.#words, STATE, RUNS, milliseconds);
        if (Atomics.load(this.#words, STATE) !== DONE) return undefined;
        const length = this.#words[RESULT >> 2]!;
        return new TextDecoder().decode(this.#bytes.slice(RESULT + 4, RESULT + 4 + length));
    }

    /** The number of slots that the writer has not handled. */
    get waiting(): number {
        return (Atomics.load(this.#words, HEAD) - Atomics.load(this.#words, TAIL)) | 0;
    }

    #end(state: number): void {
        Atomics.store(this.#words, STATE, state);
        // So that no thread waits for its start.
        Atomics.store(this.#words, LISTENS, 1);
        for (const awaited of [STATE, TAIL, LISTENS]) Atomics.notify(this.#words, awaited);
    }

    #lock(): void {
        while (Atomics.compareExchange(this.#words, LOCK, 0, 1) !== 0) {
            const head = Atomics.load(this.#words, HEAD);
            // The thread that holds the lock may be waiting for room, and not have noticed yet that there is some.
            const hadRoom = this.waiting < SLOTS;
            const waited = Atomics.wait(this.#words, LOCK, 1, LOCK_TIMEOUT);
            if (waited === 'timed-out' && hadRoom && head === Atomics.load(this.#words, HEAD)) return;
        }
    }

    /** The next free slot. Waits for one, and counts the wait. */
    #place(kind: Message): number | undefined {
        const head = this.#words[HEAD]!;
        let begin = 0;
        for (let tail; ((head - (tail = Atomics.load(this.#words, TAIL))) | 0) >= SLOTS; ) {
            if (!this.#takes(kind)) return undefined;
            begin ||= performance.now();
            Atomics.wait(this.#words, TAIL, tail, 1000);
        }
        if (begin > 0) {
            const nanos = (performance.now() - begin) * 1e6;
            this.#words[STALLS]! += 1;
            this.#stallNanos[0]! += nanos;
            this.#stallNanos[1] = Math.max(this.#stallNanos[1]!, nanos);
        }
        return this.#takes(kind) ? slotOf(head) : undefined;
    }

    get #isParked(): boolean {
        return Atomics.load(this.#words, REFUSES) === PARKS;
    }

    #park(): void {
        Atomics.wait(this.#words, STATE, RUNS);
    }

    #takes(kind: Message): boolean {
        return Atomics.load(this.#words, STATE) === RUNS && (kind === Message.Finish || Atomics.load(this.#words, REFUSES) === 0);
    }
}

function slotOf(number: number): number {
    return CONTROL + (number & (SLOTS - 1)) * SLOT;
}
