/** Passes a site's answer on to the browser. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline, type Readable } from 'node:stream';

/** Headers of an answer that are about one connection. */
const OF_CONNECTIONS = ['connection', 'keep-alive', 'trailer', 'transfer-encoding', 'upgrade'];

/** Passes an answer on, with another body if there is one. What the site says of isolation itself, it says still. */
export function pass(answer: IncomingMessage, response: ServerResponse, other?: Readable): void {
    try {
        for (const [name, value] of Object.entries(answer.headers)) {
            if (value !== undefined && !OF_CONNECTIONS.includes(name)) response.setHeader(name, value);
        }
        // Here, where it can fail: sites say what node doesn't.
        response.writeHead(answer.statusCode!, answer.statusMessage!);
    } catch (error) {
        answer.destroy();
        throw error;
    }
    // A browser may go away in the middle of it, and so may the site.
    pipeline(other ?? answer, response, () => answer.destroy());
}
