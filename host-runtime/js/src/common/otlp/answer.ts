/** Reads a Collector's response, by the OTLP specification. */

import { fieldsOf } from './protobuf.js';

export type Answer =
    | { kind: 'taken'; rejected: number; message: string }
    /** `after`: the wait that the server asks for, in milliseconds. */
    | { kind: 'retry'; after?: number | undefined; message: string }
    /** `isTooLarge`: parts of the request may be taken. */
    | { kind: 'refused'; isTooLarge?: boolean; message: string };

/** Status codes that allow a retry; all other errors are final. */
const RETRYABLE = new Set([429, 502, 503, 504]);

/** `bodyOf` reads the body: otherwise the connection can't be used again. */
export async function readAnswer(response: Response, bodyOf: (response: Response) => Promise<Uint8Array>): Promise<Answer> {
    const body = await bodyOf(response);
    if (response.ok) {
        const type = response.headers.get('content-type') ?? '';
        const [, format] = /^application\/(x-protobuf|json)/i.exec(type) ?? [];
        // Otherwise a page of a proxy or an app, not a Collector's response.
        const partial = !format && type && body.length ? undefined : partialSuccess(/json/i.test(format!) ? new Uint8Array() : body);
        return partial ? { kind: 'taken', ...partial } : { kind: 'refused', message: `its response is not an OTLP message${format || !type ? '' : `, but ${type}`}` };
    }
    const message = `it responds ${response.status} ${response.statusText}`.trim();
    if (!RETRYABLE.has(response.status)) return { kind: 'refused', isTooLarge: response.status === 413, message };
    return { kind: 'retry', after: retryAfter(response.headers.get('retry-after')), message };
}

/** `Retry-After`: seconds or a date. */
function retryAfter(text: string | null): number | undefined {
    if (text === null) return undefined;
    const millis = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
    return Number.isFinite(millis) ? Math.max(0, millis) : undefined;
}

/**
 * The `partial_success` of an `ExportTraceServiceResponse`: field 1, in it `rejected_spans` = 1 and `error_message` = 2. `undefined` if the
 * message is malformed.
 */
export function partialSuccess(body: Uint8Array): { rejected: number; message: string } | undefined {
    const result = { rejected: 0, message: '' };
    try {
        for (const partial of fieldsOf(body)) {
            if (partial.number !== 1) continue;
            const inner = body.subarray(partial.content, partial.end);
            for (const { number, content, end, value } of fieldsOf(inner)) {
                // Negative numbers are at least 2^63.
                if (number === 1 && value < 2 ** 63) result.rejected = value;
                if (number === 2) result.message = new TextDecoder().decode(inner.subarray(content, end));
            }
        }
        return result;
    } catch {
        return undefined;
    }
}
