/** Where a thread's part of a recording goes. */

import type { Header, Summary } from '../trace/trace.js';

export interface Output {
    /** A new recorder's number. */
    lane(): number;
    /** Allocates `count` ids of host functions, and returns the first. */
    ids(count: number): number;
    /** Takes a block; the bytes are only borrowed. */
    block(recorder: number, block: Uint8Array): void;
    /** Takes a symbol table before the first events that need it. Drops a known one. */
    symbols(table: Uint8Array): void;
    /** Takes the parent of a recorder's next calls: the payload of a `PRNT` chunk. */
    parent(recorder: number, payload: Uint8Array): void;
    /** Takes the cost of a probe. Only the first call of any kind may be this one. */
    probeCost(cost: Header['probe_cost']): void;
    /** A recorder has handed over everything and is gone. */
    ended(recorder: number): void;
    /** Takes a window of a profiled instance: the body of a `PROF`. */
    window(recorder: number, body: Uint8Array): void;
    /** Takes a block of a profiled instance's slow calls; the bytes are only borrowed. */
    span(recorder: number, block: Uint8Array): void;
    /** Ends the recording after the calling thread's lanes. */
    finish(outcome: string): Summary | Promise<Summary>;
}
