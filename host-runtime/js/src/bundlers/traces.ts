/** Takes the traces that pages of a development server post, and makes files of them. */

import { closeSync, existsSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { gunzipSync } from 'node:zlib';

/** A part has no more, packed or unpacked. */
const MOST = 256 << 20;
/** So many parts may wait for one before them. */
const EARLY = 64;

interface Trace {
    path: string;
    /** How long the file is. */
    length: number;
    next: number;
    early: Map<number, Buffer>;
}

/** A part that has no place now. The page posts it again. */
class NoRoom extends Error {}

/** Adds all of a part to a file, or nothing: the same may come again. */
function append(trace: Trace, part: Buffer): void {
    try {
        const file = openSync(trace.path, 'r+');
        try {
            // What a write left that failed is behind the end.
            ftruncateSync(file, trace.length);
            for (let done = 0; done < part.length; ) done += writeSync(file, part, done, part.length - done, trace.length + done);
        } finally {
            closeSync(file);
        }
    } catch (error) {
        throw new NoRoom(String(error));
    }
    trace.length += part.length;
}

/** Answers posts of traces: `page-1.kperf` and so on. `tell` is told of each. */
export function traces(tell: (line: string) => void): (request: IncomingMessage, response: ServerResponse) => void {
    const known = new Map<string, Trace>();
    const begin = (): Trace => {
        let number = 1;
        while (existsSync(`page-${number}.kperf`)) number++;
        const path = `page-${number}.kperf`;
        closeSync(openSync(path, 'wx'));
        tell(`kperf: a page records to ${path}`);
        return { path, length: 0, next: 0, early: new Map() };
    };
    const take = (id: string, part: number, bytes: Buffer): void => {
        const trace = known.get(id) ?? begin();
        known.set(id, trace);
        if (part < trace.next) return;
        if (part !== trace.next && trace.early.size >= EARLY) throw new NoRoom(`part ${trace.next} is missing`);
        trace.early.set(part, bytes);
        for (let next; (next = trace.early.get(trace.next)); trace.next++) {
            append(trace, next);
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
                answer(error instanceof NoRoom ? 507 : 400, String(error));
            }
        });
    };
}
