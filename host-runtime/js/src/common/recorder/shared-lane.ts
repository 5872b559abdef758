/** The part of a lane that other threads read. */

import { CAPACITY, START } from '../constants.js';

/**
 * A position after the last where an event may begin. So the next event first calls `flush`, and the host learns that the guest runs
 * again. Other events pay nothing for it.
 */
export const ARMED = START + CAPACITY - 24;
/** The last position where an event may begin. */
export const LAST_START = START + CAPACITY - 28;

/** A lane's memories, which another thread can read after the lane's own thread has ended. */
export interface SharedLane {
    memory: WebAssembly.Memory;
    /** Whether end marks follow the last word. */
    marked: boolean;
    /** Events of earlier turns of the event loop, after `CONTROL` bytes. */
    earlier: SharedArrayBuffer | ArrayBuffer;
}

/** Words of the control: the length of the earlier events; whether the recorder's block is void (armed); whether it was handed over. */
export const EARLIER_LENGTH = 0, EARLIER_ARMED = 1, SENT = 2;
/** The number of blocks handed over, and a version that is odd while the lane changes. */
export const BLOCKS = 3, CHANGES = 4;
/** The parts of the block that is being handed over, as bits. The thread may be terminated before it clears them. */
export const GIVES = 5, GIVES_EARLIER = 1, GIVES_OWN = 2;
/** Length of the control in bytes. */
export const CONTROL = 32;
