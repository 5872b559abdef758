/** Limits the spans of a second. */

import type { SpansRequest } from '../trace/core.js';
import { fieldsOf, type Bytes } from './protobuf.js';
import { filterSpans } from './request.js';

/** Nanoseconds of an interval with its own share of the limit, so that the calls of a second's beginning don't take all of it. */
const INTERVAL = 100_000_000n;
/** The number of intervals that are remembered: lanes are not in order. */
const MAX_INTERVALS = 1000;
/** The number of parents that are awaited. Those of other programs never come. */
const MAX_PARENTS = 1 << 16;

/** Fields of a span, by their numbers in trace.proto. */
const SPAN_ID = 2, PARENT_ID = 4, END = 8;
/**
 * Keeps at most so many spans a second, by their ends, and the spans around those. (Children come before their parents.) So no span loses its
 * parent, and the limit is exceeded by a few.
 */
export class SpanRate {
    /** The number of spans that were left out. */
    left = 0;
    readonly #limit: number;
    /** The number of spans by the interval in which they end. */
    readonly #kept = new Map<bigint, number>();
    /** Parents of spans that are kept. */
    readonly #parents = new Set<bigint>();

    constructor(spansPerSecond: number) {
        this.#limit = Math.max(1, Math.ceil((spansPerSecond * Number(INTERVAL)) / 1e9));
    }

    /** The request without some of its spans; `undefined` if none is left. */
    limit({ body, spans }: SpansRequest): SpansRequest | undefined {
        const { left } = this;
        const kept = filterSpans(body, (span) => {
            const keeps = this.#keeps(span);
            if (!keeps) this.left++;
            return keeps;
        });
        const rest = spans - (this.left - left);
        return rest > 0 ? { body: kept, spans: rest } : undefined;
    }

    #keeps(span: Bytes): boolean {
        const view = new DataView(span.buffer, span.byteOffset, span.length);
        let [id, parent, interval] = [0n, 0n, 0n];
        for (const { number, content, end } of fieldsOf(span)) {
            if (end - content !== 8) continue;
            if (number === SPAN_ID) id = view.getBigUint64(content, true);
            else if (number === PARENT_ID) parent = view.getBigUint64(content, true);
            else if (number === END) interval = view.getBigUint64(content, true) / INTERVAL;
        }
        const count = this.#kept.get(interval) ?? 0;
        if (!this.#parents.delete(id) && count >= this.#limit) return false;
        this.#kept.set(interval, count + 1);
        forgetFirst(this.#kept, MAX_INTERVALS);
        if (parent !== 0n) this.#parents.add(parent);
        forgetFirst(this.#parents, MAX_PARENTS);
        return true;
    }
}

function forgetFirst<Key>(of: Map<Key, unknown> | Set<Key>, most: number): void {
    if (of.size > most) of.delete(of.keys().next().value as Key);
}
