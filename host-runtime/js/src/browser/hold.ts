/** Delays the closing of a page. */

/**
 * Blocks the thread. Meanwhile the browser's other processes send requests, and workers run. Browsers allow a closing page half a second.
 */
export function hold(milliseconds: number): void {
    for (const end = performance.now() + milliseconds; performance.now() < end; );
}
