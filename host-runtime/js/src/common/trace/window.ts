/** A window of a profiled instance: the body of a `PROF`. kperf-trace's window.rs does the same. */

import { pushNumber } from './symbols.js';

export interface Window {
    startTicks: number;
    endTicks: number;
    periodNanos: number;
    /** 0 if slow calls are not recorded. */
    spanMinNanos: number;
    samples: number;
    torn: number;
    cut: number;
    idleTicks: number;
    /** The sum of the squares of the samples' weights. */
    squares: number;
    /** Parents precede their children. */
    nodes: readonly WindowNode[];
    /** The functions that were called, in order of their ids. */
    calls: readonly (readonly [func: number, calls: number])[];
}

/** A path of calls. */
export interface WindowNode {
    /** The index of the caller's path; -1 for the host. */
    parent: number;
    func: number;
    samples: number;
    selfTicks: number;
}

export function encodeWindow(window: Window): Uint8Array {
    const out: number[] = [];
    const put = (value: number): void => pushNumber(out, value);
    put(window.startTicks);
    put(Math.max(0, window.endTicks - window.startTicks));
    for (const number of [window.periodNanos, window.spanMinNanos, window.samples, window.torn, window.cut, window.idleTicks]) put(number);
    putBits(window.squares, out);
    put(window.nodes.length);
    window.nodes.forEach(({ parent, func, samples, selfTicks }, index) => {
        // The distance to the parent; the host precedes the first node.
        put(index - parent);
        put(func);
        put(samples);
        put(selfTicks);
    });
    put(window.calls.length);
    let next = 0;
    for (const [func, calls] of window.calls) {
        put(func - next);
        put(calls);
        next = func + 1;
    }
    return Uint8Array.from(out);
}

/** Writes the bits of a float as a 64-bit number. */
function putBits(value: number, out: number[]): void {
    const view = new DataView(new ArrayBuffer(8));
    view.setFloat64(0, value, true);
    let bits = view.getBigUint64(0, true);
    for (; bits > 0x7fn; bits >>= 7n) out.push(Number(bits & 0x7fn) | 0x80);
    out.push(Number(bits));
}
