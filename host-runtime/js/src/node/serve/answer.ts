/** How requests are read and answered. */

import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';

/** An answer other than that all is well, and its status. */
export class Refused extends Error {
    readonly status: number;

    constructor(status: number, message: string) {
        super(message);
        this.status = status;
    }
}

/** Headers of a request or an answer may have so many bytes. */
export const MOST_HEADERS = 1 << 18;

/** Answers with a line of text. */
export function say(response: ServerResponse, status: number, text: string, headers: Record<string, string> = {}): void {
    if (response.headersSent) response.destroy();
    // (What a site said in the place of the phrase may be what couldn't be sent.)
    else response.writeHead(status, STATUS_CODES[status] ?? '', { 'content-type': 'text/plain; charset=utf-8', ...headers }).end(text);
}

/** That there are more bytes than are taken. */
export function tooLarge(most: number): Refused {
    return new Refused(413, `it has more than ${most >> 20} MiB, which is all that kperf-wasm serve takes at once`);
}

/** The bytes that a page posts, at most so many. */
export async function body(request: IncomingMessage, most: number): Promise<Buffer> {
    const pieces: Buffer[] = [];
    let length = 0;
    // (The connection stays, for the answer.)
    for await (const piece of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        length += piece.length;
        if (length > most) throw tooLarge(most);
        pieces.push(piece);
    }
    return Buffer.concat(pieces);
}
