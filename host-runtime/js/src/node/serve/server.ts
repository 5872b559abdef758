/** Answers the browser: with the site's files, into whose pages the recorder is put, and with our own. */

import { createServer, ServerResponse, type IncomingHttpHeaders, type IncomingMessage, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { PassThrough, pipeline } from 'node:stream';
import { reasonOf } from '../../common/warn.js';
import { ISOLATION } from '../../common/serving.js';
import { printStatus } from '../cli-args.js';
import { MAX_HEADERS, Refused, respond } from './answer.js';
import { limitConnections } from './connections.js';
import { hasHost } from './hosts.js';
import { placeOfTag } from './html.js';
import type { Modules } from './modules.js';
import { CONDITIONS, OURS, answerOurs, tag } from './ours.js';
import { pass } from './pass.js';
import { makeRoom } from './policy.js';
import type { Site } from './site.js';
import type { Traces } from './traces.js';

/** What the server is made of. */
export interface ServerSettings {
    site: Site;
    modules: Modules;
    traces: Traces;
    /** The attributes of the script's tag, which say how pages record. */
    attributes: string;
    /** Whether pages are made cross-origin isolated. */
    isolate: boolean;
    /** Whether only this machine can reach it, and more names to which it answers. */
    local: boolean;
    names: string[];
}

/** The tag goes into the first bytes of a page, at most so many; the rest is passed on as it comes. */
const MAX_HEAD = 1 << 16;
/** Files of an isolated site are for its own pages. */
const OWN = { 'cross-origin-resource-policy': 'same-origin' };
/** How long a client may take to send its headers, in milliseconds. */
const PATIENCE = 30_000;

/** A server that doesn't listen yet. */
export function pageServer(settings: ServerSettings): Server {
    const { site, isolate } = settings;
    const handle = (request: IncomingMessage, response: ServerResponse, how: (path: string) => Promise<void>): void => {
        if (isolate) for (const [name, value] of Object.entries({ ...ISOLATION, ...OWN })) response.setHeader(name, value);
        how(pathOf(request)).catch((error: Error) => {
            if (response.destroyed) return;
            const isRefused = error instanceof Refused;
            if (!isRefused || error.status !== UNKNOWN_NAME) printStatus(`error: ${request.url}: ${reasonOf(error)}`);
            // What can't be sent on may be among these.
            for (const name of response.getHeaderNames()) response.removeHeader(name);
            if (isRefused) respond(response, error.status, error.message, { connection: 'close' });
            else respond(response, 502, `kperf-wasm serve: ${site.name} doesn't answer: ${reasonOf(error)}`);
        });
    };
    // (How long a body may take is the site's choice.)
    const server = createServer({ headersTimeout: PATIENCE, keepAliveTimeout: PATIENCE, requestTimeout: 0, maxHeaderSize: MAX_HEADERS }, (request, response) => {
        handle(request, response, (path) => answer(settings, path, request, response));
    });
    limitConnections(server);
    server.on('upgrade', (request: IncomingMessage, socket: Socket, begun: Buffer) => {
        socket.on('error', () => socket.destroy());
        const response = new ServerResponse(request);
        response.shouldKeepAlive = false;
        response.on('finish', () => socket.end());
        handle(request, response, async (path) => {
            // Until both sides speak another protocol this is an answer like any.
            response.assignSocket(socket);
            check(settings, request);
            if (path.startsWith(OURS)) return answerOurs(settings, path, request, response);
            const other = await site.upgrade(request, path, socket, begun, () => response.detachSocket(socket));
            if (other) pass(other, response);
        });
    });
    return server;
}

/** The status of an answer: the server has another name. */
const UNKNOWN_NAME = 421;

function check({ local, names }: ServerSettings, { headers: { host = '' } }: IncomingMessage): void {
    if (!hasHost(host, local, names)) throw new Refused(UNKNOWN_NAME, "kperf-wasm serve doesn't answer to this name: use an address, localhost, or --allow-host NAME");
}

/** What is asked for. A proxy's client names the server in front of it. */
function pathOf({ url = '/' }: IncomingMessage): string {
    return url.replace(/^https?:\/\/[^/?]*/i, '').replace(/^(?=\?|$)/, '/');
}

async function answer(settings: ServerSettings, path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { site } = settings;
    check(settings, request);
    if (path.startsWith(OURS)) return answerOurs(settings, path, request, response);
    if (request.method !== 'GET' || !asksForPage(request.headers)) return pass(await site.answer(request, response, path), response);
    const page = await site.answer(request, response, path, ['accept-encoding', ...CONDITIONS]);
    await withRecorder(settings, path, request.headers.host ?? '', page, response);
}

/** Whether the browser wants to show what it asks for. What a script fetches as data needs no recorder, and may be kept. */
function asksForPage(headers: IncomingHttpHeaders): boolean {
    const destination = headers['sec-fetch-dest'];
    // Browsers say it only to addresses that they trust.
    if (destination === undefined) return headers.accept?.includes('text/html') ?? false;
    return ['document', 'iframe', 'frame', 'object', 'embed'].includes(String(destination));
}

/** Puts the recorder into an answer, if that is a page. */
async function withRecorder({ attributes }: ServerSettings, path: string, host: string, page: IncomingMessage, response: ServerResponse): Promise<void> {
    const { headers } = page;
    const type = headers['content-type']?.toLowerCase() ?? '';
    const xml = type.startsWith('application/xhtml+xml');
    if (page.statusCode !== 200 || !(xml || type.startsWith('text/html'))) return pass(page, response);
    if ((headers['content-encoding'] ?? 'identity') !== 'identity') {
        printStatus(`${path}: the server sent it compressed, unasked; it is passed on without a change`);
        return pass(page, response);
    }
    let start = Buffer.alloc(0);
    let place = { at: 0, isCertain: false };
    const rest = page.iterator({ destroyOnReturn: false });
    while (!place.isCertain && start.length < MAX_HEAD) {
        const { done, value } = (await rest.next()) as IteratorResult<Buffer>;
        if (done) break;
        start = Buffer.concat([start, value]);
        place = placeOfTag(start.toString('latin1', 0, MAX_HEAD));
    }
    await rest.return?.();
    const body = new PassThrough();
    if (['fffe', 'feff'].includes(start.subarray(0, 2).toString('hex'))) {
        printStatus(`${path}: it is in UTF-16; it is passed on without a change`);
        body.write(start);
    } else {
        const nonce = makeRoom(headers, `${host}${OURS}`);
        body.write(start.subarray(0, place.at));
        body.write(tag(nonce, xml, attributes));
        body.write(start.subarray(place.at));
        // A cached copy would be wrong when this server is gone.
        headers['cache-control'] = 'no-store';
        for (const name of ['content-length', 'etag', 'last-modified', 'accept-ranges']) delete headers[name];
    }
    if (page.readableEnded) body.end();
    else pipeline(page, body, () => undefined);
    pass(page, response, body);
}
