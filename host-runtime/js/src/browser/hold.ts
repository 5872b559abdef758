/** Keeps a page that is being closed. */

/**
 * Keeps the thread for so many milliseconds. Meanwhile the browser's other processes send requests, and workers run. Browsers allow a
 * page that is closed half a second.
 */
export function hold(milliseconds: number): void {
    for (const end = performance.now() + milliseconds; performance.now() < end; );
}
