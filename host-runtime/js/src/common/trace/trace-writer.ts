/** Writes the chunks of a trace. */

import { Columns, type Encoder } from './columns.js';
import { crc32 } from './crc32.js';
import { BLOCK_HEADER, CHUNK_HEADER, HOST_IDS, NO_RECORDER, PREAMBLE, SYNC } from '../constants.js';
import { equalBytes, idsOf } from './symbols.js';
import type { Header, Sink, Summary, SummaryInput } from './trace.js';

export type Kind = 'HEAD' | 'SYMS' | 'EVTS' | 'SPAN' | 'PROF' | 'STAL' | 'LOST' | 'PRNT' | 'ANCH' | 'ENDT';

/** Length of the header before a window's body. */
const WINDOW_HEADER = 8;

/** Makes a zstd frame. */
export type Pack = (bytes: Uint8Array) => Uint8Array;

/** Faster functions of the host, if it has them. */
export interface Codecs {
    crc32?: (bytes: Uint8Array) => number;
    /** Packs windows; without it they are not packed. */
    zstd?: Pack;
    columns?: Encoder;
    /** Reads the trace's clock and the calendar at one moment. Called once a minute: clocks drift, and calendars are set. */
    anchor?: (() => Header['anchor']) | undefined;
}

/** Milliseconds between anchors. */
const ANCHOR_PERIOD = 60_000;

export function kindOf(chunk: Uint8Array): string {
    return String.fromCharCode(...chunk.subarray(4, 8));
}

/** When the sink throws, the chunk is lost and its events are counted in a `LOST` chunk. Later chunks are tried again. */
export class TraceWriter {
    readonly #sink: Sink;
    readonly #crc32: (bytes: Uint8Array) => number;
    readonly #columns: Encoder;
    readonly #zstd: Pack | undefined;
    readonly #anchor: Codecs['anchor'];
    /** The time of the last anchor, in milliseconds. */
    #anchored = performance.now();
    /** For each recorder: the number of its next block, and how many lost events are not in a `LOST` chunk yet. */
    readonly #recorders = new Map<number, { next: number; lost: number }>();
    /** The written tables by their first id; the number of their guest functions. */
    readonly #tables = new Map<number, Uint8Array>();
    #probes = 0;
    #events = 0;
    #blocks = 0;
    #dropped = 0;
    /** The sink's first error. */
    failure: Error | undefined;

    constructor(sink: Sink, header: Header, codecs: Codecs = {}) {
        this.#sink = sink;
        this.#crc32 = codecs.crc32 ?? crc32;
        this.#columns = codecs.columns ?? new Columns();
        this.#zstd = codecs.zstd;
        this.#anchor = codecs.anchor;
        this.#give(PREAMBLE.slice());
        this.#json('HEAD', header);
    }

    /** Adds a symbol table: a custom section `kperf.symbols`. Adds a known one only once. */
    symbols(table: Uint8Array): void {
        const { idBase, functions } = idsOf(table);
        const known = this.#tables.get(idBase);
        if (known && equalBytes(known, table)) return;
        this.#tables.set(idBase, table);
        if (idBase < HOST_IDS) this.#probes += functions;
        this.#put('SYMS', 0, 0, table);
    }

    /** Adds a chunk of another thread's writer. Its end has the number of its events. */
    chunk(chunk: Uint8Array): void {
        const kind = kindOf(chunk);
        const payload = chunk.subarray(CHUNK_HEADER);
        if (kind === 'SYMS') return this.symbols(payload);
        if (kind !== 'ENDT') return void this.#give(chunk);
        const { events, blocks, dropped_events } = JSON.parse(new TextDecoder().decode(payload)) as Summary;
        this.#events += events;
        this.#blocks += blocks;
        this.#dropped += dropped_events;
    }

    /** Adds a recorder's block, unless it has no words. `SPAN` is for a profile's slow calls. */
    block(recorder: number, block: Uint8Array, kind: 'EVTS' | 'SPAN' = 'EVTS'): void {
        if (block.length <= BLOCK_HEADER) return;
        let state = this.#recorders.get(recorder);
        if (!state) this.#recorders.set(recorder, (state = { next: 0, lost: 0 }));
        this.#renewAnchor();
        const { payload, events } = this.#columns.encode(block);
        this.#blocks++;
        this.#events += events;
        if (state.lost > 0) this.#lost(recorder, state);
        // A failed write takes a number too, so that readers notice the gap.
        if (!this.#put(kind, recorder, state.next++, payload)) {
            this.#dropped += events;
            state.lost += events;
        }
    }

    /** Adds a window of a profiled instance. */
    window(recorder: number, body: Uint8Array): void {
        this.#renewAnchor();
        const packed = this.#zstd?.(body);
        const stored = packed && packed.length < body.length ? packed : body;
        const payload = new Uint8Array(WINDOW_HEADER + stored.length);
        payload[0] = stored === body ? 0 : 1;
        new DataView(payload.buffer).setUint32(4, body.length, true);
        payload.set(stored, WINDOW_HEADER);
        this.#put('PROF', recorder, 0, payload);
    }

    /** Adds a stall of the ticker. */
    stall(start: number, nanos: number): void {
        const payload = new Uint8Array(17);
        const view = new DataView(payload.buffer);
        view.setBigUint64(1, BigInt(start), true);
        view.setBigUint64(9, BigInt(nanos), true);
        this.#put('STAL', NO_RECORDER, 0, payload);
    }

    /** Sets the parent of the recorder's later calls: the payload of a `PRNT`. */
    parent(recorder: number, payload: Uint8Array): void {
        this.#put('PRNT', recorder, 0, payload);
    }

    /** Ends the trace, and returns its summary. */
    finish(input: SummaryInput): Summary {
        for (const [recorder, state] of this.#recorders) if (state.lost > 0) this.#lost(recorder, state);
        const counted = { events: this.#events, blocks: this.#blocks, dropped_events: this.#dropped };
        const summary = { ...input, ...counted, probes: this.#probes };
        this.#json('ENDT', summary);
        return summary;
    }

    /** Writes an anchor if the last one is a minute old. */
    #renewAnchor(): void {
        if (!this.#anchor || performance.now() - this.#anchored < ANCHOR_PERIOD) return;
        this.#anchored = performance.now();
        const { ticks, unix_nanos } = this.#anchor();
        const payload = new Uint8Array(16);
        const view = new DataView(payload.buffer);
        view.setBigUint64(0, BigInt(ticks), true);
        view.setBigUint64(8, BigInt(unix_nanos), true);
        this.#put('ANCH', 0, 0, payload);
    }

    #lost(recorder: number, state: { next: number; lost: number }): void {
        const payload = new Uint8Array(8);
        new DataView(payload.buffer).setBigUint64(0, BigInt(state.lost), true);
        if (this.#put('LOST', recorder, state.next, payload)) state.lost = 0;
    }

    #json(kind: Kind, value: Header | Summary): void {
        this.#put(kind, 0, 0, new TextEncoder().encode(JSON.stringify(value)));
    }

    #put(kind: Kind, recorder: number, sequence: number, payload: Uint8Array): boolean {
        const chunk = new Uint8Array(CHUNK_HEADER + payload.length);
        chunk.set(payload, CHUNK_HEADER);
        const view = new DataView(chunk.buffer);
        chunk.set(SYNC, 0);
        for (let n = 0; n < 4; n++) chunk[4 + n] = kind.charCodeAt(n);
        view.setUint32(8, recorder, true);
        view.setUint32(12, sequence, true);
        view.setUint32(16, payload.length, true);
        view.setUint32(20, this.#crc32(payload), true);
        view.setUint32(24, this.#crc32(chunk.subarray(0, 24)), true);
        return this.#give(chunk);
    }

    #give(bytes: Uint8Array): boolean {
        try {
            this.#sink.chunk(bytes);
            return true;
        } catch (error) {
            this.failure ??= error instanceof Error ? error : new Error(String(error));
            return false;
        }
    }
}
