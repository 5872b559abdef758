/** What another thread sees of a lane. */

import { CAPACITY, START } from '../constants.js';

/**
 * Past the last place where an event may begin: the next event hands the block over before anything else. So the host
 * learns that the guest runs again, and events pay nothing for it.
 */
export const ARMED = START + CAPACITY - 24;
/** Where the last event of a block may begin. */
export const LAST_START = START + CAPACITY - 28;

/** What a thread shows of its lane, so that another one can see what it has recorded when it is gone. */
export interface SharedLane {
    memory: WebAssembly.Memory;
    /** Whether all words behind its last one are marks. */
    marked: boolean;
    /** What was recorded in turns of the event loop that are over, behind `CONTROL` bytes. */
    earlier: SharedArrayBuffer | ArrayBuffer;
}

/** The words before what was recorded earlier: its length, whether the recorder's own block is void, and whether it was handed over. */
export const EARLIER_LENGTH = 0;
export const EARLIER_ARMED = 1;
export const SENT = 2;
/** How many blocks were handed over, and a number that is odd while the lane moves things about. */
export const BLOCKS = 3;
export const CHANGES = 4;
/** What the block is made of that is handed over right now: bits. Its thread may be terminated before it says that this is done. */
export const GIVES = 5;
export const GIVES_EARLIER = 1;
export const GIVES_OWN = 2;
/** Their length in bytes. */
export const CONTROL = 32;
