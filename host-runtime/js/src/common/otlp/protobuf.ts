/** Reads the fields of a protobuf message. */

export type Bytes = Uint8Array<ArrayBuffer>;

/** All bytes of a field, and those of its content. */
export interface Field {
    number: number;
    start: number;
    content: number;
    end: number;
    /** A varint, or the content's length. Negative numbers are at least 2^63. */
    value: number;
}

/** Throws if the message is malformed, also at a group. */
export function* fieldsOf(message: Uint8Array): Generator<Field> {
    let at = 0;
    const varint = (): number => {
        let value = 0;
        for (let scale = 1; ; scale *= 128) {
            const byte = message[at++]!;
            value += (byte & 127) * scale;
            if (byte < 128) return value;
            // After the end or ten bytes.
            if (!(byte && scale < 2 ** 63)) throw new RangeError('malformed message');
        }
    };
    while (at < message.length) {
        const start = at;
        const tag = varint();
        const [number, type] = [tag >>> 3, tag & 7];
        let content = at;
        const value = type === 0 || type === 2 ? varint() : type === 1 ? 8 : type === 5 ? 4 : NaN;
        if (type === 2) content = at;
        const end = type === 0 ? at : content + value;
        if (!(number && (at = end) <= message.length)) throw new RangeError('malformed message');
        yield { number, start, content, end, value };
    }
}
