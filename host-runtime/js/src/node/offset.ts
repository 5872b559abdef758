/** `performance.now()` counts from each thread's own beginning; `process.hrtime` doesn't. */

/** How far this thread's `performance.now()` is behind the system's clock, in milliseconds. */
export function threadOrigin(): number {
    let best = Infinity;
    let origin = 0;
    // The closest of a few tries: a thread may be put aside between two readings.
    for (let n = 0; n < 16; n++) {
        const before = performance.now();
        const [seconds, nanos] = process.hrtime();
        const after = performance.now();
        if (after - before >= best) continue;
        best = after - before;
        origin = seconds * 1e3 + nanos / 1e6 - (before + after) / 2;
    }
    return origin;
}

/** What to add to this thread's readings, so that they count from the beginning of the thread with this origin. */
export function threadOffset(origin: number): number {
    return threadOrigin() - origin;
}
