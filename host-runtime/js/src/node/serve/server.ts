/** Answers the browser: with the site's files, into whose pages the recorder is put, and with our own. */

import { readFileSync } from 'node:fs';
import { createServer, ServerResponse, type IncomingHttpHeaders, type IncomingMessage, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { PassThrough, pipeline, type Readable } from 'node:stream';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { reasonOf } from '../../common/reason.js';
import { say as tell } from '../cli-args.js';
import { ask } from '../reports.js';
import { body, MOST_HEADERS, Refused, say, tooLarge } from './answer.js';
import type { Modules } from './modules.js';
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

/** The folder of our own files. */
const OURS = '/.kperf/';
const SCRIPTS = ['kperf.js', 'worklet.js'];
/** The tag goes into the first bytes of a page, at most so many; the rest is passed on as it comes. */
const MAX_HEAD = 1 << 16;
/** The most bytes of a request, and of a part of a trace when it is unpacked. A page sends a part every half second. */
const MAX_POST = 256 << 20;
/** How long a client may take to say what it wants, in milliseconds. */
const PATIENCE = 30_000;
/** What makes a page cross-origin isolated. `credentialless`, unlike `require-corp`, lets it load files of other sites as before. */
const ISOLATED = { 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'credentialless', 'cross-origin-resource-policy': 'same-origin' };
/** What a browser says of what it has: a page has to be there from its beginning, and readable. */
const CONDITIONS = ['if-modified-since', 'if-none-match', 'if-range', 'range'];
/** Headers of an answer that are about one connection. */
const OF_CONNECTIONS = ['connection', 'keep-alive', 'trailer', 'transfer-encoding', 'upgrade'];
/** What the answer with a worker's script says of the worker. */
const OF_WORKERS = ['content-security-policy', 'cross-origin-embedder-policy', 'referrer-policy'];

/** A server that doesn't listen yet. */
export function pageServer(settings: ServerSettings): Server {
    const { site, isolate } = settings;
    const handle = (request: IncomingMessage, response: ServerResponse, how: (path: string) => Promise<void>): void => {
        if (isolate) for (const [name, value] of Object.entries(ISOLATED)) response.setHeader(name, value);
        how(pathOf(request)).catch((error: Error) => {
            if (response.destroyed) return;
            const isRefused = error instanceof Refused;
            if (!isRefused || error.status !== UNKNOWN_NAME) tell(`error: ${request.url}: ${reasonOf(error)}`);
            // What can't be sent on may be among these.
            for (const name of response.getHeaderNames()) response.removeHeader(name);
            if (isRefused) say(response, error.status, error.message, { connection: 'close' });
            else say(response, 502, `kperf-wasm serve: ${site.name} doesn't answer: ${reasonOf(error)}`);
        });
    };
    // (How long a body may take is the site's choice.)
    const server = createServer({ headersTimeout: PATIENCE, keepAliveTimeout: PATIENCE, requestTimeout: 0, maxHeaderSize: MOST_HEADERS }, (request, response) => {
        handle(request, response, (path) => answer(settings, path, request, response));
    });
    server.on('upgrade', (request: IncomingMessage, socket: Socket, begun: Buffer) => {
        socket.on('error', () => socket.destroy());
        const response = new ServerResponse(request);
        response.shouldKeepAlive = false;
        response.on('finish', () => socket.end());
        handle(request, response, async (path) => {
            // Until both sides speak another protocol this is an answer like any.
            response.assignSocket(socket);
            check(settings, request);
            if (path.startsWith(OURS)) return ours(settings, path, request, response);
            const other = await site.upgrade(request, path, socket, begun, () => response.detachSocket(socket));
            if (other) pass(other, response);
        });
    });
    return server;
}

/** That the server has another name. */
const UNKNOWN_NAME = 421;

function check({ local, names }: ServerSettings, { headers: { host = '' } }: IncomingMessage): void {
    if (!ask('host', { host, local, names })) throw new Refused(UNKNOWN_NAME, "kperf-wasm serve doesn't answer to this name: use an address, localhost, or --allow-host NAME");
}

/** What is asked for. A proxy's client names the server in front of it. */
function pathOf({ url = '/' }: IncomingMessage): string {
    return url.replace(/^https?:\/\/[^/?]*/i, '').replace(/^(?=\?|$)/, '/');
}

async function answer(settings: ServerSettings, path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { site } = settings;
    check(settings, request);
    if (path.startsWith(OURS)) return ours(settings, path, request, response);
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

/** Passes an answer on, with another body if there is one. What the site says of isolation itself, it says still. */
function pass(answer: IncomingMessage, response: ServerResponse, other?: Readable): void {
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

/** Puts the recorder into an answer, if that is a page. */
async function withRecorder({ attributes }: ServerSettings, path: string, host: string, page: IncomingMessage, response: ServerResponse): Promise<void> {
    const { headers } = page;
    const type = headers['content-type']?.toLowerCase() ?? '';
    const xml = type.startsWith('application/xhtml+xml');
    if (page.statusCode !== 200 || !(xml || type.startsWith('text/html'))) return pass(page, response);
    if ((headers['content-encoding'] ?? 'identity') !== 'identity') {
        tell(`${path}: the server sent it compressed, unasked; it is passed on without a change`);
        return pass(page, response);
    }
    let start = Buffer.alloc(0);
    let place = { at: 0, enough: false };
    const rest = page.iterator({ destroyOnReturn: false });
    while (!place.enough && start.length < MAX_HEAD) {
        const { done, value } = (await rest.next()) as IteratorResult<Buffer>;
        if (done) break;
        start = Buffer.concat([start, value]);
        place = ask('place', { page: start.subarray(0, MAX_HEAD).toString('latin1') });
    }
    await rest.return?.();
    const body = new PassThrough();
    if (['fffe', 'feff'].includes(start.subarray(0, 2).toString('hex'))) {
        tell(`${path}: it is in UTF-16; it is passed on without a change`);
        body.write(start);
    } else {
        const nonce = makeRoom(headers, `${host}${OURS}`);
        body.write(start.subarray(0, place.at));
        body.write(ask('tag', { nonce, xml, attributes }));
        body.write(start.subarray(place.at));
        // A cached copy would be wrong when this server is gone.
        headers['cache-control'] = 'no-store';
        for (const name of ['content-length', 'etag', 'last-modified', 'accept-ranges']) delete headers[name];
    }
    if (page.readableEnded) body.end();
    else pipeline(page, body, () => undefined);
    pass(page, response, body);
}

/** Makes room in an answer's policies for what is below `room`. Answers the nonce that the scripts of a page have. */
function makeRoom(headers: IncomingHttpHeaders, room: string): string | null {
    const found = headers['content-security-policy'];
    if (found === undefined) return null;
    const { policies, nonce } = ask('room', { policies: [found].flat(), ours: room });
    // Node has joined several by commas, which is what they mean.
    headers['content-security-policy'] = policies.join(', ');
    return nonce;
}

/** Answers requests for our own files, and takes what pages post. */
async function ours(settings: ServerSettings, path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(path, 'http://localhost');
    const name = url.pathname.slice(OURS.length);
    if (request.method === 'GET' && SCRIPTS.includes(name)) return script(response, readFileSync(new URL(`../../${name}`, import.meta.url)));
    if (request.method === 'GET' && name === 'worker.js') return worker(settings, url, request, response);
    if (request.method === 'POST' && name === 'trace') return takePart(settings, request, response);
    if (request.method === 'POST' && name === 'probe') return probe(settings, url, request, response);
    say(response, 404, 'there is nothing of this name');
}

function script(response: ServerResponse, text: string | Buffer): void {
    response.setHeader('content-type', 'text/javascript').setHeader('cache-control', 'no-store').end(text);
}

/**
 * `?to=PATH`, or `?module&to=PATH` for a module: a script that loads the recorder and then the script at that path of the site. If the
 * site doesn't answer with a script, this is its answer.
 */
async function worker({ site }: ServerSettings, { searchParams }: URL, request: IncomingMessage, response: ServerResponse): Promise<void> {
    // Two slashes would name another server.
    const path = searchParams.get('to') ?? '';
    if (!/^\/(?!\/)[\x21-\x7e]*$/.test(path) || path.startsWith(OURS)) return say(response, 400, '`to` is no path of the site');
    const answer = await site.answer(request, response, path, CONDITIONS);
    if (answer.statusCode !== 200) return pass(answer, response);
    answer.resume();
    const { source, room } = ask('worker', { path, module: searchParams.has('module'), host: request.headers.host ?? '' });
    makeRoom(answer.headers, room);
    for (const name of OF_WORKERS) {
        const value = answer.headers[name];
        if (value !== undefined) response.setHeader(name, value);
    }
    script(response, source);
}

const unpack = promisify(gunzip);
/** Parts are unpacked one after the other, so that many at once take no more memory than one. */
let unpacking: Promise<unknown> = Promise.resolve();

async function takePart({ traces }: ServerSettings, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { headers } = request;
    const header = (name: string): string => {
        const value = headers[name];
        // Pages of other sites can't send these headers without a preflight request, which is never answered.
        if (typeof value !== 'string') throw new Refused(400, `the header ${name} is missing`);
        return value;
    };
    const trace = header('kperf-trace');
    if (!/^[0-9a-f]{32}$/i.test(trace)) throw new Refused(400, 'the header kperf-trace is not 32 hexadecimal digits');
    if (!/^\d{1,9}$/.test(header('kperf-part'))) throw new Refused(400, 'the header kperf-part is no number');
    const packed = await body(request, MAX_POST);
    const take = async (): Promise<void> => {
        const bytes = headers['content-encoding'] === 'gzip' ? await unpack(packed, { maxOutputLength: MAX_POST }).catch(refusal) : packed;
        const unsent = Number(headers['kperf-unsent'] ?? 0);
        traces.take({ trace, number: Number(headers['kperf-part']), isLast: headers['kperf-last'] !== undefined, unsent: Number.isSafeInteger(unsent) ? unsent : 0, bytes });
    };
    const taken = unpacking.then(take);
    unpacking = taken.catch(() => undefined);
    await taken;
    say(response, 200, '');
}

function refusal(error: Error & { code?: string }): never {
    throw error.code === 'ERR_BUFFER_TOO_LARGE' ? tooLarge(MAX_POST) : new Refused(400, `failed to unpack it: ${error.message}`);
}

/** Answers a module with probes, 204 if it is to stay as it is, or 422 with the reason if it can't have any. */
async function probe({ modules }: ServerSettings, { searchParams }: URL, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.headers['kperf-probe'] === undefined) throw new Refused(400, 'the header kperf-probe is missing');
    const idBase = searchParams.get('id_base') ?? '';
    if (!/^\d{1,9}$/.test(idBase)) throw new Refused(400, '`id_base` is no number');
    const wasm = await body(request, MAX_POST);
    const { wasm: rewritten, refusal } = await modules.probed({ name: searchParams.get('name') ?? '', idBase: Number(idBase), inline: searchParams.get('inline') === 'true', wasm });
    // So that the page can tell it from what a service worker or another server answers to anything.
    response.setHeader('kperf-probe', '1');
    if (refusal !== undefined) say(response, 422, refusal);
    else if (rewritten) response.end(rewritten);
    else response.writeHead(204).end();
}
