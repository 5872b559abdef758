/** A while of an instance that makes a profile, as a trace has it: the body of a `PROF`. kperf-trace's window.rs does the same. */

/** What was counted and seen. */
export interface Window {
    startTicks: number;
    endTicks: number;
    periodNanos: number;
    /** 0 if no slow calls are told. */
    spanMinNanos: number;
    samples: number;
    torn: number;
    cut: number;
    idleTicks: number;
    /** The sum of the squares of what each sample of an open call stands for. */
    squares: number;
    /** Parents come before their children. */
    nodes: readonly WindowNode[];
    /** The functions that were called, by increasing id. */
    calls: readonly (readonly [func: number, calls: number])[];
}

/** A path of open calls. */
export interface WindowNode {
    /** Index of the path that it goes on from; -1 if the host made the call. */
    parent: number;
    func: number;
    samples: number;
    selfTicks: number;
}

/** Writes one. */
export function encodeWindow(window: Window): Uint8Array {
    const out: number[] = [];
    const put = (value: number): void => {
        // Operators for integers take no more than 31 bits.
        for (; value > 0x7fffffff; value = Math.floor(value / 0x80)) out.push((value % 0x80) | 0x80);
        for (; value > 0x7f; value >>>= 7) out.push((value & 0x7f) | 0x80);
        out.push(value);
    };
    put(window.startTicks);
    put(Math.max(0, window.endTicks - window.startTicks));
    for (const number of [window.periodNanos, window.spanMinNanos, window.samples, window.torn, window.cut, window.idleTicks]) put(number);
    putBits(window.squares, out);
    put(window.nodes.length);
    window.nodes.forEach(({ parent, func, samples, selfTicks }, index) => {
        // How far back the parent is; the host stands before the first node.
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

/** The bits of a float, as a number of 64 bits. */
function putBits(value: number, out: number[]): void {
    const view = new DataView(new ArrayBuffer(8));
    view.setFloat64(0, value, true);
    let [low, high] = [view.getUint32(0, true), view.getUint32(4, true)];
    for (; high > 0 || low > 0x7f; high >>>= 7) {
        out.push((low & 0x7f) | 0x80);
        low = ((low >>> 7) | (high << 25)) >>> 0;
    }
    out.push(low);
}
