/** Lets the workers of an isolated page record into its trace, with its ticker and its sampler. */

import { CLOCK_BYTES, type ClockPlace } from '../common/clock/clock.js';
import { clockMemory, CLOCKS_FROM, CLOCKS_TO, memoryIsFree, type CellChange } from '../common/clock/ticker.js';
import type { ProfiledInstance } from '../common/profile/counts.js';
import { HOST_IDS } from '../common/constants.js';
import { ModuleIds } from '../common/hook/module-ids.js';
import type { SamplerLink } from '../common/profile/profile.js';
import { moduleOf } from '../common/instantiate.js';
import { CLOCK } from '../common/wasm-source.js';
import { RingReader, RingSink } from './ring.js';

/** What a page and its workers share. */
export interface SharedRecording {
    /** The page's `performance.timeOrigin`, from which the trace counts. */
    timeOrigin: number;
    /** The numbers of lanes, of ids for host functions, and of threads' clocks so far. */
    numbers: Int32Array;
    /** See `ModuleIds`. */
    ids: ArrayBufferLike;
    /** The ticker's memory. */
    clock: WebAssembly.Memory;
}

/** The place of a thread's clock; `undefined` if there were too many. */
export function clockPlace({ numbers, clock }: SharedRecording): ClockPlace | undefined {
    const at = CLOCKS_FROM + CLOCK_BYTES * Atomics.add(numbers, 2, 1);
    return at < CLOCKS_TO ? { memory: clock, at } : undefined;
}

type Record = 'trace' | 'profile';

/** The page's recording. */
interface PageRecording {
    readonly finished: boolean;
    readonly sampler: SamplerLink;
    change: (cell: CellChange) => void;
    take: (chunk: Uint8Array) => void;
}

/** A worker's messages to its page. */
type ToPage = { buffer: SharedArrayBuffer; record: Record } | { cell: CellChange } | { begins: ProfiledInstance } | { ends: ProfiledInstance } | Connection;

/** A port of a worker, and a word that is 1 when the worker has ended. */
interface Connection {
    port: MessagePort;
    ended: Int32Array<SharedArrayBuffer>;
}

/** The name of a worker's first message. */
const KEY = 'kperf';

/** The page's side. */
export class PageWorkers {
    readonly ids = new ModuleIds();
    readonly shared: SharedRecording = { timeOrigin: performance.timeOrigin, numbers: new Int32Array(new SharedArrayBuffer(12)), ids: this.ids.buffer, clock: clockMemory() };
    readonly #begin: (record: Record) => PageRecording;
    /** Each passes on what a worker has handed over, and returns whether the worker records nothing, or has ended. */
    readonly #workers = new Set<(take: (chunk: Uint8Array) => void) => boolean>();

    /** `begin` begins the page's recording, if it hasn't begun. */
    constructor(begin: (record: Record) => PageRecording) {
        this.#begin = begin;
    }

    /** Whether workers can join: the page's policy may forbid modules, but not its workers'. */
    get joins(): boolean {
        try {
            return !!moduleOf(CLOCK);
        } catch {
            return false;
        }
    }

    /** Lets a worker that was made just now record into this trace. */
    join(worker: Worker): void {
        this.#accept(welcome(worker, this.shared));
    }

    /** Passes on what workers have handed over. Returns whether all of them have ended. */
    read(take: (chunk: Uint8Array) => void): boolean {
        let isAll = true;
        for (const read of this.#workers) isAll = read(take) && isAll;
        return isAll;
    }

    /** The profiled instances that have not ended, by their numbers. */
    readonly instances = new Map<number, ProfiledInstance>();

    #accept({ port, ended }: Connection): void {
        const cells = new Set<string>();
        const instances = new Set<ProfiledInstance>();
        const inner: Connection[] = [];
        let recorder: PageRecording | undefined;
        let ring: RingReader | undefined;
        const change = (cell: CellChange): void => {
            if (cell.memory) cells.add(cell.id);
            else cells.delete(cell.id);
            recorder?.change(cell);
        };
        const end = (instance: ProfiledInstance): void => {
            if (this.instances.delete(instance.number)) void recorder!.sampler.end(instance);
        };
        port.onmessage = ({ data }: MessageEvent<ToPage>) => {
            if ('port' in data) {
                inner.push(data);
                this.#accept(data);
            } else if ('buffer' in data) {
                recorder = this.#begin(data.record);
                ring = new RingReader(data.buffer);
            } else if ('cell' in data) change(data.cell);
            else if ('ends' in data) end(data.ends);
            else {
                const { begins } = data;
                instances.add(begins);
                this.instances.set(begins.number, begins);
                recorder!.sampler.add(begins);
            }
        };
        const read = (take: (chunk: Uint8Array) => void): boolean => {
            const hasEnded = ended[0] === 1;
            ring?.read(take);
            if (!hasEnded) return ring === undefined;
            port.close();
            for (const id of cells) change({ id });
            instances.forEach(end);
            for (const { ended } of inner) ended[0] = 1;
            // Its memories are also this thread's.
            if (recorder) memoryIsFree();
            return this.#workers.delete(read);
        };
        this.#workers.add(read);
    }
}

/** The worker's side. */
export class PageLink {
    readonly joins = true;
    /** Set when the page's first message has come. */
    shared: SharedRecording | undefined;
    #isLate = false;
    #connection: Connection | undefined;
    /** Workers of this one that wait for that. */
    readonly #waiting: Worker[] = [];

    /** Call this before the program listens to messages. */
    constructor() {
        const listen = (event: MessageEvent<{ [KEY]?: Connection & { shared: SharedRecording } } | null>): void => {
            const welcome = event.data?.[KEY];
            if (!welcome) return;
            event.stopImmediatePropagation();
            removeEventListener('message', listen);
            if (this.#isLate) return;
            this.shared = welcome.shared;
            this.#connection = welcome;
            this.#waiting.forEach((worker) => this.join(worker));
        };
        addEventListener('message', listen);
    }

    /** The ids for this worker's modules. Those of a module that is loaded before the page's first message aren't the page's, so the worker stays alone. */
    get ids(): ModuleIds {
        this.#isLate = !this.shared;
        return this.shared ? new ModuleIds(this.shared.ids) : new ModuleIds(undefined, ((1 + Math.random()) * HOST_IDS) >> 1);
    }

    /** Lets a worker of this worker record into the page's trace, too. */
    join(worker: Worker): void {
        if (!this.shared) return void this.#waiting.push(worker);
        const connection = welcome(worker, this.shared);
        this.post(connection, [connection.port]);
    }

    post(message: ToPage, transfer: Transferable[] = []): void {
        this.#connection!.port.postMessage(message, transfer);
    }

    /** The page's sampler. */
    sampler(now: () => number): SamplerLink {
        return { now, add: (begins) => this.post({ begins }), end: (ends) => this.post({ ends }) };
    }

    /** Begins to record into the page's trace. */
    sink(record: Record): RingSink {
        const sink = new RingSink(this.#connection!.ended);
        this.post({ buffer: sink.buffer, record });
        return sink;
    }
}

/** Sends a worker its first message, and returns the connection for its own. */
function welcome(worker: Worker, shared: SharedRecording): Connection {
    const { port1, port2 } = new MessageChannel();
    const ended = new Int32Array(new SharedArrayBuffer(4));
    worker.postMessage({ [KEY]: { shared, port: port2, ended } }, [port2]);
    // No event shows that.
    const { terminate } = worker;
    worker.terminate = () => {
        terminate.call(worker);
        ended[0] = 1;
    };
    return { port: port1, ended };
}
