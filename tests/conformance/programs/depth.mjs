// What the programs ask of preload.mjs. Without it there are no frames.

/** Frames of guests that are open: 0 wherever a program prints this. */
export const depth = () => globalThis.kperf?.depth() ?? 0;

/** Closes what an exception left open that left the guest. */
export const close = () => globalThis.kperf?.close() ?? 0;
