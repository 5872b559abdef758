/** Reads a Collector's response, by the OTLP specification. */

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
        const partial = !format && type && body.length > 0 ? undefined : partialSuccess(/json/i.test(format!) ? new Uint8Array() : body);
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
        for (const outer of fields(body)) {
            if (outer.field !== 1 || typeof outer.value === 'number') continue;
            for (const { field, value } of fields(outer.value)) {
                // Negative numbers are at least 2^63.
                if (field === 1 && typeof value === 'number' && value < 2 ** 63) result.rejected = value;
                if (field === 2 && typeof value !== 'number') result.message = new TextDecoder().decode(value);
            }
        }
        return result;
    } catch {
        return undefined;
    }
}

/** A message's fields. Throws at the end if the message is malformed. */
function* fields(bytes: Uint8Array): Generator<{ field: number; value: number | Uint8Array }> {
    let at = 0;
    const varint = (): number => {
        let value = 0;
        for (let scale = 1; ; scale *= 128) {
            const byte = bytes[at++]!;
            value += (byte & 127) * scale;
            // Past the end it is `undefined`.
            if (!(byte > 127)) return value;
        }
    };
    while (at < bytes.length) {
        const tag = varint();
        const [field, type] = [tag >>> 3, tag & 7];
        const number = type === 0 || type === 2 ? varint() : type === 1 ? 8 : type === 5 ? 4 : NaN;
        if (type > 0) at += number;
        // No field has the number 0.
        if (field === 0) at = NaN;
        yield { field, value: type > 0 ? bytes.subarray(at - number, at) : number };
    }
    if (at !== bytes.length) throw 0;
}
