/** How requests are read and answered. */

import type { IncomingMessage, ServerResponse } from 'node:http';

/** An answer other than that all is well, and its status. */
export class Refused extends Error {
    readonly status: number;

    constructor(status: number, message: string) {
        super(message);
        this.status = status;
    }
}

/** Answers with a line of text. */
export function say(response: ServerResponse, status: number, text: string): void {
    if (response.headersSent) response.destroy();
    else response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(text);
}

/** That there are more bytes than are taken. */
export function tooLarge(most: number): Refused {
    return new Refused(413, `it has more than ${most >> 20} MiB, which is all that kperf-wasm serve takes at once`);
}

/** The bytes that a page posts, at most so many. */
export async function body(request: IncomingMessage, most: number): Promise<Buffer> {
    const pieces: Buffer[] = [];
    let length = 0;
    for await (const piece of request as AsyncIterable<Buffer>) {
        length += piece.length;
        if (length > most) throw tooLarge(most);
        pieces.push(piece);
    }
    return Buffer.concat(pieces);
}
