/** Answers requests for the server's own URLs: the recorder's scripts, parts of traces, and modules to rewrite. */

import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { PROBE } from '../../common/serving.js';
import { body, pass, Refused, respond } from './answer.js';
import { FORMS, type Modules } from './modules.js';
import { partOf } from './parts.js';
import { makeRoom } from './policy.js';
import type { Site } from './site.js';
import type { Traces } from './traces.js';

/** The folder of our own URLs. No site should have a folder of this name. */
export const OURS = '/.kperf/';
const SCRIPT = `${OURS}kperf.js`;
const SCRIPTS = ['kperf.js', 'worklet.js'];
/** Headers that ask for less than the whole file. Pages and workers need all of it. */
export const CONDITIONS = ['if-modified-since', 'if-none-match', 'if-range', 'range'];
/** Headers of a worker's own script that also apply to our script before it. */
const OF_WORKERS = ['content-security-policy', 'cross-origin-embedder-policy', 'referrer-policy'];

/** The parts of the server that answers need. */
export interface Ours {
    site: Site;
    modules: Modules;
    traces: Traces;
}

/** The tag that loads the recorder. `attributes` are the page's settings. */
export function tag(nonce: string | undefined, isXml: boolean, attributes: string): string {
    // In XHTML a tag outside of the namespace is no script.
    const namespace = isXml ? ' xmlns="http://www.w3.org/1999/xhtml"' : '';
    const allowed = nonce === undefined ? '' : ` nonce="${nonce}"`;
    const addresses = `data-post="${OURS}trace" data-probe="auto" data-server="${OURS}probe"`;
    return `<script${namespace} src="${SCRIPT}"${allowed} ${addresses} ${attributes}></script>`;
}

/** Answers a request for one of our own URLs. */
export async function answerOurs(ours: Ours, path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(path, 'http://localhost');
    const name = url.pathname.slice(OURS.length);
    if (request.method === 'GET' && SCRIPTS.includes(name)) return script(response, readFileSync(new URL(`../../${name}`, import.meta.url)));
    if (request.method === 'GET' && name === 'worker.js') return worker(ours, url, request, response);
    if (request.method === 'POST' && name === 'trace') {
        ours.traces.take(await partOf(request));
        return respond(response, 200, '');
    }
    if (request.method === 'POST' && name === 'probe') return probe(ours, url, request, response);
    respond(response, 404, 'not found');
}

function script(response: ServerResponse, text: string | Buffer): void {
    response.setHeader('content-type', 'text/javascript').setHeader('cache-control', 'no-store').end(text);
}

/**
 * `?to=PATH`, or `?module&to=PATH` for a module: a script that loads the recorder and then the site's script at that path. A worker that
 * starts as a blob would have the page's policy instead of its own. If the site has no such script, its answer is passed on.
 */
async function worker({ site }: Ours, { searchParams }: URL, request: IncomingMessage, response: ServerResponse): Promise<void> {
    // A path that begins with two slashes would name another server.
    const path = searchParams.get('to') ?? '';
    if (!/^\/(?!\/)[\x21-\x7e]*$/.test(path) || path.startsWith(OURS)) return respond(response, 400, '`to` is not a path of the site');
    const answer = await site.answer(request, response, path, CONDITIONS);
    if (answer.statusCode !== 200) return pass(answer, response);
    answer.resume();
    const { host = '' } = request.headers;
    // The policy doesn't cover the worker's main script, but it covers scripts that this one loads.
    const own = path.replace(/\?.*/s, '').replaceAll(';', '%3B').replaceAll(',', '%2C');
    makeRoom(answer.headers, `${host}${OURS} ${host}${own}`);
    for (const name of OF_WORKERS) {
        const value = answer.headers[name];
        if (value !== undefined) response.setHeader(name, value);
    }
    const load = searchParams.has('module') ? (url: string) => `import ${JSON.stringify(url)};` : (url: string) => `importScripts(${JSON.stringify(url)});`;
    script(response, `${load(SCRIPT)}\n${load(path)}\n`);
}

/** Answers with the probed module, with 204 if it stays unchanged, or with 422 and the reason if it can't have probes. */
async function probe({ modules }: Ours, { searchParams }: URL, request: IncomingMessage, response: ServerResponse): Promise<void> {
    // As with parts of traces, pages of other sites can't send it.
    if (request.headers[PROBE] === undefined) throw new Refused(400, `the header ${PROBE} is missing`);
    const idBase = searchParams.get('id_base') ?? '';
    if (!/^\d{1,9}$/.test(idBase)) throw new Refused(400, '`id_base` is not a number');
    const form = FORMS.find((form) => form === searchParams.get('form'));
    if (form === undefined) throw new Refused(400, `\`form\` is not one of ${FORMS.join(', ')}`);
    const wasm = await body(request);
    const name = searchParams.get('name') ?? '';
    const { wasm: rewritten, refusal } = await modules.probed({ name, idBase: Number(idBase), form, wasm });
    response.setHeader(PROBE, '1');
    if (refusal !== undefined) respond(response, 422, refusal);
    else if (rewritten) response.end(rewritten);
    else response.writeHead(204).end();
}
