/** The priority of a thread. */

import { constants, setPriority } from 'node:os';

/** Lowers this thread's priority. If guest and ticker need both processors, the writer can wait: the queue has room for eight million events. */
export function giveWay(): void {
    // On other systems this would change the whole process.
    if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
}
