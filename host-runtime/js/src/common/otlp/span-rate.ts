/** Limits the spans of a second. */

import type { SpansRequest } from '../trace/core.js';

/** Nanoseconds of an interval with its own share of the limit, so that the calls of a second's beginning don't take all of it. */
const INTERVAL = 100_000_000n;
/** The number of intervals that are remembered: lanes are not in order. */
const MAX_INTERVALS = 1000;
/** The number of parents that are awaited. Those of other programs never come. */
const MAX_PARENTS = 1 << 16;

/** Fields of a span, by their numbers in trace.proto. */
const SPAN_ID = 2, PARENT_ID = 4, END = 8;
/** The field that has the spans, from the outermost message inwards: `resource_spans`, `scope_spans`, `spans`. */
const PATH = [1, 2, 2];
const LENGTH_DELIMITED = 2, FIXED_64 = 1;

type Bytes = Uint8Array<ArrayBuffer>;

/** A field of a message: all its bytes, and those of its content. */
interface Field {
    number: number;
    start: number;
    content: number;
    end: number;
}

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
        const kept = this.#without(body, 0);
        const rest = spans - (this.left - left);
        return rest > 0 ? { body: kept, spans: rest } : undefined;
    }

    #without(message: Bytes, level: number): Bytes {
        const parts: Bytes[] = [];
        for (const { number, start, content, end } of fieldsOf(message)) {
            const inner = message.subarray(content, end);
            if (number !== PATH[level]) parts.push(message.subarray(start, end));
            else if (level < PATH.length - 1) {
                const kept = this.#without(inner, level + 1);
                parts.push(varint((number << 3) | LENGTH_DELIMITED), varint(kept.length), kept);
            } else if (this.#keeps(inner)) parts.push(message.subarray(start, end));
            else this.left++;
        }
        return concat(parts);
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

function* fieldsOf(message: Bytes): Generator<Field> {
    let at = 0;
    const number = (): number => {
        let value = 0;
        for (let scale = 1; ; scale *= 0x80) {
            const byte = message[at++] ?? 0;
            value += (byte & 0x7f) * scale;
            if (byte < 0x80) return value;
        }
    };
    while (at < message.length) {
        const start = at;
        const tag = number();
        let content = at;
        const kind = tag & 7;
        if (kind === LENGTH_DELIMITED) {
            const length = number();
            content = at;
            at += length;
        } else if (kind === FIXED_64) at += 8;
        else if (kind === 0) number();
        else at += 4;
        yield { number: tag >>> 3, start, content, end: at };
    }
}

function varint(value: number): Bytes {
    const bytes: number[] = [];
    for (; value >= 0x80; value = Math.floor(value / 0x80)) bytes.push((value % 0x80) | 0x80);
    return Uint8Array.from([...bytes, value]);
}

function concat(parts: Bytes[]): Bytes {
    const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const part of parts) {
        all.set(part, at);
        at += part.length;
    }
    return all;
}
