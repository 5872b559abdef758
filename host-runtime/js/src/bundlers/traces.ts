/** Takes the traces that pages of a development server post, and makes files of them. */

import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { gunzipSync } from 'node:zlib';

/** A part has no more, packed or unpacked. */
const MOST = 256 << 20;
/** So many parts may wait for one before them. */
const EARLY = 64;

interface Trace {
    path: string;
    next: number;
    early: Map<number, Buffer>;
}

/** Answers posts of traces: `page-1.kperf` and so on. `tell` is told of each. */
export function traces(tell: (line: string) => void): (request: IncomingMessage, response: ServerResponse) => void {
    const known = new Map<string, Trace>();
    const begin = (): Trace => {
        let number = 1;
        while (existsSync(`page-${number}.kperf`)) number++;
        const path = `page-${number}.kperf`;
        writeFileSync(path, '');
        tell(`kperf: a page records to ${path}`);
        return { path, next: 0, early: new Map() };
    };
    const take = (id: string, part: number, bytes: Buffer): void => {
        const trace = known.get(id) ?? begin();
        known.set(id, trace);
        if (part < trace.next) return;
        if (part !== trace.next && trace.early.size >= EARLY) throw new Error(`part ${trace.next} is missing`);
        trace.early.set(part, bytes);
        for (let next; (next = trace.early.get(trace.next)); trace.next++) {
            appendFileSync(trace.path, next);
            trace.early.delete(trace.next);
        }
    };
    return (request, response) => {
        const answer = (status: number, text = ''): void => void response.writeHead(status, { 'content-type': 'text/plain' }).end(text);
        const { 'kperf-trace': trace, 'kperf-part': part, 'content-encoding': encoding } = request.headers;
        // Pages of other sites can't send these headers without asking, and nobody answers that.
        if (request.method !== 'POST' || typeof trace !== 'string' || !/^\d+$/.test(String(part))) return answer(400, 'this is no part of a trace');
        const chunks: Buffer[] = [];
        let length = 0;
        request.on('data', (chunk: Buffer) => {
            length += chunk.length;
            if (length <= MOST) chunks.push(chunk);
        });
        request.on('end', () => {
            if (length > MOST) return answer(413, `a part has ${MOST >> 20} MiB at most`);
            try {
                const body = Buffer.concat(chunks);
                take(trace, Number(part), encoding === 'gzip' ? gunzipSync(body, { maxOutputLength: MOST }) : body);
                answer(200);
            } catch (error) {
                answer(400, String(error));
            }
        });
    };
}
