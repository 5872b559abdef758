/** Checks the server's name in requests. With any other name, a foreign site could read the app (DNS rebinding). */

import { isIP } from 'node:net';

/** Whether an address is reached from this machine only. */
export function isLoopback(address: string): boolean {
    return address === '::1' || (isIP(address) === 4 && address.startsWith('127.'));
}

/**
 * Whether a `Host` header names this server: localhost, one of `names`, or an address, which can't be redirected. If the server is `local`,
 * only addresses of this machine.
 */
export function hasHost(host: string, local: boolean, names: string[]): boolean {
    const name = host.replace(/:\d*$/, '').replace(/^\[|\]$/g, '');
    if (name === 'localhost' || name.endsWith('.localhost')) return true;
    if (isIP(name) !== 0) return !local || isLoopback(name);
    return names.some((known) => known.toLowerCase() === name.toLowerCase());
}
