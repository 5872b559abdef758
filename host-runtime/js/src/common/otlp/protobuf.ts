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

/** Throws at the end if the message is malformed, also at a group. */
export function* fieldsOf(message: Uint8Array): Generator<Field> {
    let at = 0;
    const varint = (): number => {
        let value = 0;
        for (let scale = 1; ; scale *= 128) {
            const byte = message[at++]!;
            value += (byte & 127) * scale;
            // Past the end it is `undefined`.
            if (!(byte > 127)) return value;
        }
    };
    while (at < message.length) {
        const start = at;
        const tag = varint();
        const type = tag & 7;
        // A varint, a length, or one of the fixed lengths.
        const value = type & 5 ? { 1: 8, 5: 4 }[type]! : varint();
        const content = at;
        if (type) at += value;
        // No field has the number 0.
        if (tag < 8) at = NaN;
        yield { number: tag >>> 3, start, content, end: at, value };
    }
    if (at !== message.length) throw Error('malformed');
}
