/** Passes a site's answer on to the browser. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline, type Readable } from 'node:stream';

/** Headers that apply to one connection. */
const OF_CONNECTIONS = ['connection', 'keep-alive', 'trailer', 'transfer-encoding', 'upgrade'];

/** Passes an answer on, optionally with another body. Headers of the site override ours. */
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
