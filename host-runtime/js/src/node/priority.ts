/** Which thread goes first. */

import { constants, setPriority } from 'node:os';

/**
 * This thread gives way to others. Where the guest and the ticker take both processors, the guest shall have its own: what waits
 * to be written has room for eight million events.
 */
export function giveWay(): void {
    // Elsewhere than on Linux the priority is that of the whole process.
    if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
}
