/** Offsets between the clocks of threads: `performance.now()` counts from each thread's start, `process.hrtime` doesn't. */

/** The system's clock minus this thread's `performance.now()`, in milliseconds. */
export function threadOrigin(): number {
    let best = Infinity;
    let origin = 0;
    // The best of a few tries, because the thread may be interrupted between two readings.
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

/** Milliseconds to add to this thread's readings, so that they count from the start of the thread with this origin. */
export function threadOffset(origin: number): number {
    return threadOrigin() - origin;
}
