/** Answers the browser with the site's files and with our own, and adds the recorder to the site's pages. */

import { createServer, ServerResponse, type IncomingHttpHeaders, type IncomingMessage, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { PassThrough, pipeline } from 'node:stream';
import { reasonOf } from '../../common/warn.js';
import { ISOLATION } from '../../common/serving.js';
import { printStatus } from '../cli-args.js';
import { MAX_HEADERS, pass, Refused, respond } from './answer.js';
import { hasHost } from './hosts.js';
import { placeOfTag } from './html.js';
import type { Modules } from './modules.js';
import { CONDITIONS, OURS, answerOurs, tag } from './ours.js';
import { makeRoom } from './policy.js';
import type { Site } from './site.js';
import type { Traces } from './traces.js';
import { UnrecordedWorkers } from './unrecorded.js';

/** The server's parts and settings. */
export interface ServerSettings {
    site: Site;
    modules: Modules;
    traces: Traces;
    /** The settings of pages, as attributes of the script's tag. */
    attributes: string;
    /** Whether pages are made cross-origin isolated. */
    isolate: boolean;
    /** Whether only this machine can reach it, and the additional names that it answers to. */
    local: boolean;
    names: string[];
}

/** The most bytes of a page that are searched for the tag's place; the rest is streamed. */
const MAX_HEAD = 1 << 16;
/** Only the site's own pages may embed its files. */
const OWN = { 'cross-origin-resource-policy': 'same-origin' };
/** How long a client may take to send its headers, in milliseconds. */
const PATIENCE = 30_000;

/** The server, which doesn't listen yet. */
export function pageServer(settings: ServerSettings): Server {
    const { site, isolate } = settings;
    const handle = (request: IncomingMessage, response: ServerResponse, how: (path: string) => Promise<void>): void => {
        if (isolate) for (const [name, value] of Object.entries({ ...ISOLATION, ...OWN })) response.setHeader(name, value);
        how(pathOf(request)).catch((error: Error) => {
            if (response.destroyed) return;
            const isRefused = error instanceof Refused;
            if (!isRefused || error.status !== UNKNOWN_NAME) printStatus(`error: ${request.url}: ${reasonOf(error)}`);
            // One of these may be the reason.
            for (const name of response.getHeaderNames()) response.removeHeader(name);
            if (isRefused) respond(response, error.status, error.message, { connection: 'close' });
            else respond(response, 502, `kperf-wasm serve: ${site.name} doesn't answer: ${reasonOf(error)}`);
        });
    };
    const unrecorded = new UnrecordedWorkers();
    // The site limits how long a body may take.
    const server = createServer({ headersTimeout: PATIENCE, keepAliveTimeout: PATIENCE, requestTimeout: 0, maxHeaderSize: MAX_HEADERS }, (request, response) => {
        handle(request, response, (path) => answer(settings, unrecorded, path, request, response));
    });
    server.on('upgrade', (request: IncomingMessage, socket: Socket, begun: Buffer) => {
        socket.on('error', () => socket.destroy());
        const response = new ServerResponse(request);
        response.shouldKeepAlive = false;
        response.on('finish', () => socket.end());
        handle(request, response, async (path) => {
            // Until both sides switch protocols, this is an ordinary answer.
            response.assignSocket(socket);
            check(settings, request);
            if (path.startsWith(OURS)) return answerOurs(settings, path, request, response);
            const other = await site.upgrade(request, path, socket, begun, () => response.detachSocket(socket));
            if (other) pass(other, response);
        });
    });
    return server;
}

/** The status of a response: the server doesn't have the requested name. */
const UNKNOWN_NAME = 421;

function check({ local, names }: ServerSettings, { headers: { host = '' } }: IncomingMessage): void {
    if (!hasHost(host, local, names)) throw new Refused(UNKNOWN_NAME, "kperf-wasm serve doesn't answer to this name: use an address, localhost, or --allow-host NAME");
}

/** The requested path. A proxy's client puts the server before it. */
function pathOf({ url = '/' }: IncomingMessage): string {
    return url.replace(/^https?:\/\/[^/?]*/i, '').replace(/^(?=\?|$)/, '/');
}

async function answer(settings: ServerSettings, unrecorded: UnrecordedWorkers, path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { site } = settings;
    check(settings, request);
    if (path.startsWith(OURS)) return answerOurs(settings, path, request, response);
    if (request.method !== 'GET' || !asksForPage(request.headers)) {
        const file = await site.answer(request, response, path);
        if (file.statusCode === 200) unrecorded.note(path, request.headers);
        return pass(file, response);
    }
    const page = await site.answer(request, response, path, ['accept-encoding', ...CONDITIONS]);
    await withRecorder(settings, path, request.headers.host ?? '', page, response);
}

/** Whether the browser will display the answer. Pages that a script fetches as data get no recorder. */
function asksForPage(headers: IncomingHttpHeaders): boolean {
    const destination = headers['sec-fetch-dest'];
    // Browsers send it only to trustworthy origins.
    if (destination === undefined) return headers.accept?.includes('text/html') ?? false;
    return ['document', 'iframe', 'frame', 'object', 'embed'].includes(String(destination));
}

/** Adds the recorder to an answer that is a page. */
async function withRecorder({ attributes }: ServerSettings, path: string, host: string, page: IncomingMessage, response: ServerResponse): Promise<void> {
    const { headers } = page;
    const type = headers['content-type']?.toLowerCase() ?? '';
    const xml = type.startsWith('application/xhtml+xml');
    if (page.statusCode !== 200 || !(xml || type.startsWith('text/html'))) return pass(page, response);
    if ((headers['content-encoding'] ?? 'identity') !== 'identity') {
        printStatus(`${path}: the site compressed it without being asked to, so it stays unchanged and unrecorded`);
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
        printStatus(`${path}: it is in UTF-16, so it stays unchanged and unrecorded`);
        body.write(start);
    } else {
        const nonce = makeRoom(headers, `${host}${OURS}`);
        body.write(start.subarray(0, place.at));
        body.write(tag(nonce, xml, attributes));
        body.write(start.subarray(place.at));
        // A cached copy would be wrong after this server ends.
        headers['cache-control'] = 'no-store';
        for (const name of ['content-length', 'etag', 'last-modified', 'accept-ranges']) delete headers[name];
    }
    if (page.readableEnded) body.end();
    else pipeline(page, body, () => undefined);
    pass(page, response, body);
}
