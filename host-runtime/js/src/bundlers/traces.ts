/** Makes files of the traces that pages of Vite's development server post. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { reasonOf } from '../common/warn.js';
import { Refused, respond } from '../node/serve/answer.js';
import { partOf, TraceFile } from '../node/serve/parts.js';

/** Answers posts of traces: `page-1.kperf` and so on. `status` gets a line for each. */
export function traces(status: (line: string) => void): (request: IncomingMessage, response: ServerResponse) => void {
    const known = new Map<string, TraceFile>();
    const begin = (): TraceFile => {
        const file = new TraceFile('.', 'page');
        status(`kperf: a page records to ${file.path}`);
        return file;
    };
    const take = async (request: IncomingMessage): Promise<void> => {
        if (request.method !== 'POST') throw new Refused(405, 'traces are posted');
        const part = await partOf(request);
        const file = known.get(part.trace) ?? begin();
        known.set(part.trace, file);
        file.add(part, () => file.end().forEach((line) => status(`kperf: ${line}`)));
    };
    return (request, response) => {
        const refuse = (error: unknown): void => respond(response, error instanceof Refused ? error.status : 500, reasonOf(error));
        take(request).then(() => respond(response, 200, ''), refuse);
    };
}
