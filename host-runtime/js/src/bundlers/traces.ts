/** Makes files of the traces that pages of Vite's development server post. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { reasonOf } from '../common/warn.js';
import { Refused, respond } from '../node/serve/answer.js';
import { partOf } from '../node/serve/parts.js';
import { Traces } from '../node/serve/traces.js';

/** Answers posts of traces: `page-1.kperf` and so on. `status` gets a line for each. */
export function traces(status: (line: string) => void): (request: IncomingMessage, response: ServerResponse) => void {
    const all = new Traces({ folder: '.', name: 'page', otlp: undefined, top: undefined, status: (line) => status(`kperf: ${line}`) });
    const take = async (request: IncomingMessage): Promise<void> => {
        if (request.method !== 'POST') throw new Refused(405, 'traces are posted');
        all.take(await partOf(request));
    };
    return (request, response) => {
        const refuse = (error: unknown): void => respond(response, error instanceof Refused ? error.status : 500, reasonOf(error));
        take(request).then(() => respond(response, 200, ''), refuse);
    };
}
