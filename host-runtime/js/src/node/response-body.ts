/** Reads the beginning of a response's body. */

/** The important part is at the beginning. */
const MAX_BYTES = 1 << 16;

/** Cancels a longer body, which may be endless. The body ends where its connection breaks: the status counts. */
export async function bodyOf({ body }: Response): Promise<Uint8Array> {
    const bytes = new Uint8Array(MAX_BYTES);
    let length = 0;
    try {
        // Leaving the loop cancels the rest.
        for await (const piece of (body ?? []) as AsyncIterable<Uint8Array>) {
            const part = piece.subarray(0, MAX_BYTES - length);
            bytes.set(part, length);
            length += part.length;
            if (length === MAX_BYTES) break;
        }
    } catch {
        // Timeouts, too.
    }
    return bytes.subarray(0, length);
}
