/** Gives a thread less priority. */

import { constants, setPriority } from 'node:os';

/**
 * Lets other threads go before this one. If the guest and the ticker need both processors, the writer can wait: the queue has room
 * for eight million events.
 */
export function giveWay(): void {
    // Only Linux has priorities of threads; elsewhere this would change the whole process.
    if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
}
