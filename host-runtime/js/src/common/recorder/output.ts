/** Where recordings go. */

import type { Header, Summary } from '../trace/trace.js';

/** Where a thread's part of a recording goes. */
export interface Output {
    /** A number for a recorder that nobody else has. */
    lane(): number;
    /** So many ids for functions of the host that no other thread has; the first of them. */
    ids(count: number): number;
    /** Takes a block; the bytes are only borrowed. */
    block(recorder: number, block: Uint8Array): void;
    /** Takes a symbol table, before the first events that need it. One that is known already is dropped. */
    symbols(table: Uint8Array): void;
    /** Takes the parent of a recorder's next calls: the payload of a `PRNT` chunk. */
    parent(recorder: number, payload: Uint8Array): void;
    /** Takes what a probe costs, before anything else; later it is of no use. */
    probeCost(cost: Header['probe_cost']): void;
    /** A recorder has handed over all it had, and is gone. */
    ended(recorder: number): void;
    /** Takes the body of a `PROF`, of an instance that makes a profile. */
    window(recorder: number, body: Uint8Array): void;
    /** Takes a block of slow calls of such an instance; the bytes are only borrowed. */
    span(recorder: number, block: Uint8Array): void;
    /** Ends the recording, when the lane of the calling thread has ended. */
    finish(outcome: string): Summary | Promise<Summary>;
}
