/** Reads and answers requests. */

import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import { pipeline, type Readable } from 'node:stream';

/** An answer with a status other than 200. */
export class Refused extends Error {
    readonly status: number;

    constructor(status: number, message: string) {
        super(message);
        this.status = status;
    }
}

/** Headers that apply to one connection. */
export const OF_CONNECTIONS = ['connection', 'keep-alive', 'proxy-authorization', 'te', 'trailer', 'transfer-encoding', 'upgrade'];
/** The most bytes of the headers of a request or an answer. */
export const MAX_HEADERS = 1 << 18;
/** The most bytes of a request, and of a part of a trace when it is unpacked. */
export const MAX_POST = 256 << 20;

/** Answers with a line of text. */
export function respond(response: ServerResponse, status: number, text: string, headers: Record<string, string> = {}): void {
    if (response.headersSent) response.destroy();
    // (A site's own phrase may be what couldn't be sent.)
    else response.writeHead(status, STATUS_CODES[status] ?? '', { 'content-type': 'text/plain; charset=utf-8', ...headers }).end(text);
}

/** Passes a site's answer on to the browser, optionally with another body. Headers of the site override ours. */
export function pass(answer: IncomingMessage, response: ServerResponse, other?: Readable): void {
    try {
        for (const [name, value] of Object.entries(answer.headers)) {
            if (value !== undefined && !OF_CONNECTIONS.includes(name)) response.setHeader(name, value);
        }
        // This throws on headers that node refuses to send.
        response.writeHead(answer.statusCode!, answer.statusMessage!);
    } catch (error) {
        answer.destroy();
        throw error;
    }
    // Browser and site may disconnect at any time.
    pipeline(other ?? answer, response, () => answer.destroy());
}

/** The refusal of a request with more bytes than are taken. */
export function tooLarge(): Refused {
    return new Refused(413, `it has more than ${MAX_POST >> 20} MiB, which is all that the server takes at once`);
}

/** The bytes that a page posts. */
export async function body(request: IncomingMessage): Promise<Buffer> {
    const pieces: Buffer[] = [];
    let length = 0;
    // (The connection stays, for the answer.)
    for await (const piece of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        length += piece.length;
        if (length > MAX_POST) throw tooLarge();
        pieces.push(piece);
    }
    return Buffer.concat(pieces);
}
