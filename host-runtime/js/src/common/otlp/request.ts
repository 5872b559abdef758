/** Chooses spans of an `ExportTraceServiceRequest`. */

import { fieldsOf, type Bytes } from './protobuf.js';
import type { SpansRequest } from '../trace/core.js';

/** The field that has the spans, from the outermost message inwards: `resource_spans`, `scope_spans`, `spans`. */
const PATH = [1, 2, 2];
const LENGTH_DELIMITED = 2;

/** The request with the spans for which `keeps` returns true, and all else. */
export function filterSpans(message: Bytes, keeps: (span: Bytes) => boolean, level = 0): Bytes {
    const parts: Bytes[] = [];
    for (const { number, start, content, end } of fieldsOf(message)) {
        const inner = message.subarray(content, end);
        if (number !== PATH[level]) parts.push(message.subarray(start, end));
        else if (level < PATH.length - 1) {
            const kept = filterSpans(inner, keeps, level + 1);
            parts.push(varint((number << 3) | LENGTH_DELIMITED), varint(kept.length), kept);
        } else if (keeps(inner)) parts.push(message.subarray(start, end));
    }
    return concat(parts);
}

/** Two requests with the halves of a request's spans, in order; `undefined` if it has only one. */
export function halvesOf({ body, spans }: SpansRequest): SpansRequest[] | undefined {
    const middle = spans >>> 1;
    if (middle === 0) return undefined;
    const part = (from: number, to: number): SpansRequest => {
        let at = -1;
        return { body: filterSpans(body, () => ++at >= from && at < to), spans: to - from };
    };
    return [part(0, middle), part(middle, spans)];
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
