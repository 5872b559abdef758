/** Has `npx kperf-wasm serve` rewrite modules, in a fifth of the time that a worker takes. */

import { hasMultiMemory } from '../common/recorder/lane.js';
import { PROBE } from '../common/serving.js';
import type { RewriteOptions, Rewriting } from '../common/hook/rewriter.js';
import { isIsolated } from './isolation.js';

/** The original function, before the page or its libraries wrap it. */
const { fetch } = globalThis;
const DONE = 200;
const AS_IT_IS = 204;

/** The URL of a request. The server has the filters. */
function addressOf(server: string, { module_name = '', id_base = 0, probe }: RewriteOptions): string {
    const form = !hasMultiMemory || !isIsolated() ? 'alone' : probe === 'import' ? probe : 'any';
    return `${server}?name=${encodeURIComponent(module_name)}&id_base=${id_base}&form=${form}`;
}

function outcome(status: number, header: string | null, bytes: Uint8Array<ArrayBuffer>): Rewriting {
    if (header === null) throw new Error(`kperf-wasm serve doesn't answer (${status})`);
    if (status === AS_IT_IS) return undefined;
    return status === DONE ? bytes : new TextDecoder().decode(bytes);
}

/** Asks the server for a module with probes. */
export async function rewriteThere(server: string, wasm: Uint8Array, options: RewriteOptions): Promise<Rewriting> {
    const response = await fetch(addressOf(server, options), { method: 'POST', headers: { [PROBE]: '1' }, body: wasm as Uint8Array<ArrayBuffer> });
    return outcome(response.status, response.headers.get(PROBE), new Uint8Array(await response.arrayBuffer()));
}

/** The same synchronously. */
export function rewriteThereNow(server: string, wasm: Uint8Array, options: RewriteOptions): Rewriting {
    const request = new XMLHttpRequest();
    request.open('POST', addressOf(server, options), false);
    request.setRequestHeader(PROBE, '1');
    // A synchronous request of a page has no bytes, but a character for each byte.
    request.overrideMimeType('text/plain; charset=x-user-defined');
    request.send(wasm as Uint8Array<ArrayBuffer>);
    const { responseText: text } = request;
    const bytes = new Uint8Array(text.length);
    for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
    return outcome(request.status, request.getResponseHeader(PROBE), bytes);
}
