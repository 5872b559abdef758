/** Loads the recorder into a page's workers, and into their workers. */

import { OWN_SOURCE } from './own-source.js';
import { warn } from './warn.js';

/** Classes that request a URL, which may be relative. */
const REQUESTS = ['Request', 'EventSource', 'WebSocket'] as const;

/** The settings of workers: see `PageConfig`. */
interface WorkerConfig {
    server?: string;
    idle?: boolean;
}

/**
 * Wraps `Worker`. A worker of the page's origin first loads `script`, which is this package, with these settings, and then its own script.
 * Such a worker starts from a script of ours, so its URL is corrected: in `location`, and in relative URLs of `importScripts` and requests.
 * Shared workers and workers of other origins stay unchanged. Calls `made` with each worker before the program gets it.
 */
export function reachWorkers(script: string, config: WorkerConfig, made?: (worker: Worker) => void): void {
    // In a worker that has the recorder, `location` is corrected already.
    const base = globalThis.document?.baseURI ?? location.href;
    rememberBlobs();
    globalThis.Worker = new Proxy(Worker, {
        construct(target, [url, options]: ConstructorParameters<typeof Worker>, newTarget) {
            const address = isOurs(options) ? undefined : reachable(url, base, config);
            const entry = address && begin(script, config, address, options?.type === 'module');
            started ||= entry !== undefined;
            const worker = Reflect.construct(target, [entry ?? url, options], newTarget) as Worker;
            if (entry) made?.(worker);
            return worker;
        },
    });
}

let started = false;

/** Whether the recorder was loaded into any worker. */
export function hasWorkers(): boolean {
    return started;
}

/** Precedes the settings in the URL from which `npx kperf-wasm serve` starts a worker. */
const SETTINGS = '#kperf=';

/** Corrects the URL of a worker that `npx kperf-wasm serve` has started. Does nothing elsewhere. */
export function enterWorker(): void {
    if (!('WorkerGlobalScope' in globalThis) || !location.hash.startsWith(SETTINGS)) return;
    const { config, address } = JSON.parse(decodeURIComponent(location.hash.slice(SETTINGS.length))) as { config: WorkerConfig; address: string };
    globalThis.kperfConfig = config;
    asIf(address, REQUESTS);
}

/** Lets the page's worklets run probed modules, unrecorded. `url` is that of `worklet.js`. */
export function reachWorklets(url: string | URL): void {
    const { prototype } = globalThis.Worklet;
    const { addModule } = prototype;
    const reached = new WeakMap<Worklet, Promise<void>>();
    prototype.addModule = async function (...parameters) {
        // Without it the worklet stays unchanged.
        if (!reached.has(this)) reached.set(this, addModule.call(this, url).catch(() => undefined));
        await reached.get(this);
        return addModule.apply(this, parameters);
    };
}

/** The original; `reachWorkers` wraps it later. */
const OwnWorker = globalThis.Worker;
const OWN_NAME = /^kperf-(ticker|sampler|rewriter)$/;
let ownUrl: string | undefined;

/** Starts one of our own workers. Some browsers throw if a Content-Security-Policy forbids it. */
export function startOwn(name: 'ticker' | 'sampler' | 'rewriter'): Worker {
    return new OwnWorker((ownUrl ??= textUrl(OWN_SOURCE)), { name: `kperf-${name}` });
}

/** Why one of our workers didn't start. Browsers that throw say whether it was for Trusted Types. */
export function refusalOf(error?: unknown): string {
    const why = /Trusted/.test(String(error)) ? 'the page' + HAS_TRUSTED : 'a Content-Security-Policy has to allow `worker-src blob:`';
    return `its worker was refused: ${why}`;
}

function isOurs(options: WorkerOptions | undefined): boolean {
    return OWN_NAME.test(options?.name ?? '');
}

/** Blobs by their URLs. */
const blobs = new Map<string, Blob>();

function rememberBlobs(): void {
    const { createObjectURL, revokeObjectURL } = URL;
    URL.createObjectURL = (object) => {
        const url = createObjectURL.call(URL, object);
        if (object instanceof Blob) blobs.set(url, object);
        return url;
    };
    URL.revokeObjectURL = (url) => {
        blobs.delete(url);
        revokeObjectURL.call(URL, url);
    };
}

/** The directives for imports of workers, and for workers: the first that a policy has applies. */
const OF_SCRIPTS = ['script-src', 'default-src'];
const OF_WORKERS = ['worker-src', 'child-src', ...OF_SCRIPTS];
/** This directive forbids workers from a string. */
const TRUSTED = 'require-trusted-types-for';
const HAS_TRUSTED = ` has ${TRUSTED} (Trusted Types)`;

/** Whether policies allow workers from blobs, and optionally imports of blobs. A header may have several policies. */
function allowsBlobs(policies: string, imports: boolean): boolean {
    return policies.split(',').every((policy) => {
        const directives = policy.split(';').map((directive) => directive.trim().toLowerCase().split(/\s+/));
        const allows = (names: string[], words: string[]): boolean => {
            const sources = names.map((name) => directives.find(([own]) => own === name)).find((directive) => directive !== undefined);
            return !sources || words.some((word) => sources.includes(word));
        };
        return !directives.some(([own]) => own === TRUSTED) && allows(OF_WORKERS, ['blob:']) && (!imports || allows(OF_SCRIPTS, ['blob:', "'strict-dynamic'"]));
    });
}

/**
 * Whether the page's policies, in its head and its header, allow workers from blobs, and optionally imports of blobs. Such a worker has the
 * policies of the page.
 */
function mayStartBlobs(imports: boolean): boolean {
    const metas = globalThis.document?.querySelectorAll<HTMLMetaElement>('meta[http-equiv="Content-Security-Policy" i]') ?? [];
    if (![...metas].every(({ content }) => allowsBlobs(content, imports)) || !allowsBlobs((ofHeader ??= askForPolicy()), imports)) {
        const all = [...metas].map(({ content }) => content) + ofHeader!;
        const why = all.includes(TRUSTED) ? HAS_TRUSTED : ' forbids workers from blobs (allow `worker-src blob:`, and `script-src blob:` for workers that are blobs)';
        warn(`the page's workers are not recorded, and can't run its probed modules: its Content-Security-Policy${why}`);
        return false;
    }
    return true;
}

/** The policy in the page's header, once it was requested. */
let ofHeader: string | undefined;
/** The policy of a page that can't request its own. */
const NOTHING = "worker-src 'none'";

/**
 * The policy in the page's header. Only the server knows it, and `new Worker` is synchronous, so one synchronous request asks for it.
 */
function askForPolicy(): string {
    if (!globalThis.document || !location.protocol.startsWith('http')) return '';
    // Not every server supports `HEAD`.
    for (const method of ['HEAD', 'GET']) {
        try {
            const request = new XMLHttpRequest();
            request.open(method, location.href, false);
            request.send();
            if (request.status >= 200 && request.status < 300) return request.getResponseHeader('content-security-policy') ?? '';
        } catch {
            return NOTHING;
        }
    }
    return NOTHING;
}

/** The blob for a `data:` URL. A `data:` worker has no origin and couldn't load our script. */
function unfold(address: string): Blob | undefined {
    const [, type, content] = /^data:([^,]*),(.*)$/s.exec(address.split('#')[0]!) ?? [];
    if (content === undefined) return undefined;
    // A character for each byte.
    const text = content.replace(/%([0-9a-f]{2})/gi, (_, digits) => String.fromCharCode(parseInt(digits, 16)));
    try {
        const bytes = type!.endsWith(';base64') ? atob(text) : text;
        return new Blob([Uint8Array.from(bytes, (character) => character.charCodeAt(0))], { type: 'text/javascript' });
    } catch {
        // The browser reports the error.
        return undefined;
    }
}

/** The absolute URL of a worker that can load the recorder. The browser refuses invalid URLs. */
function reachable(url: string | URL, base: string, { idle }: WorkerConfig): string | undefined {
    if (!URL.canParse(String(url), base)) return undefined;
    const { href, origin, protocol } = new URL(url, base);
    // A `data:` worker would get the page's origin, so it is changed only if it is recorded.
    return origin === location.origin || protocol === 'blob:' || (protocol === 'data:' && !idle) ? href : undefined;
}

/** The URL of a script that loads ours and then the worker's; `undefined` if the page's policy forbids it. */
function begin(script: string, config: WorkerConfig, address: string, isModule: boolean): string | undefined {
    const settings = { ...config, script };
    // The server takes that directive from headers only.
    if (config.server !== undefined && address.startsWith('http') && !globalThis.document?.querySelector(`meta[content*=${TRUSTED} i]`)) {
        // A worker from a blob would have the page's policy instead of its own.
        const [{ pathname, search }, entry] = [new URL(address), new URL('worker.js', script)];
        entry.search = `?${isModule ? 'module&' : ''}to=${encodeURIComponent(pathname + search)}`;
        return entry.href + SETTINGS + encodeURIComponent(JSON.stringify({ config: settings, address }));
    }
    const blob = blobs.get(address) ?? unfold(address);
    if (address.startsWith('data:') && !blob) return undefined;
    // Imports of a module worker need the same directive as the worker itself.
    if (!mayStartBlobs(!isModule && blob !== undefined)) return undefined;
    const start = `globalThis.kperfConfig = ${JSON.stringify(settings)};\n(${asIf.toString()})(${JSON.stringify(address)}, ${JSON.stringify(REQUESTS)});`;
    // A page may revoke the URL of a blob right after `new Worker`.
    const [first, then] = [script, blob ? URL.createObjectURL(typed(blob, isModule)) : address].map((url) => JSON.stringify(url));
    if (!isModule) return textUrl(`${start}\nimportScripts(${first});\nimportScripts(${then});`);
    // Only static imports: during a dynamic import a worker misses messages.
    return textUrl(`import ${JSON.stringify(textUrl(start))};\nimport ${first};\nimport ${then};`);
}

/** A classic worker may start from a blob without a type, but can't import it in Firefox. */
function typed(blob: Blob, isModule: boolean): Blob {
    return isModule ? blob : new Blob([blob], { type: 'text/javascript' });
}

function textUrl(text: string): string {
    return URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
}

/** Corrects the URL of the worker in which it runs. It is sent as text, so it can't use the rest of this file. */
function asIf(address: string, requests: readonly string[]): void {
    const absolute = (url: unknown): unknown =>
        typeof url === 'string' || url instanceof URL ? new URL(url, address).href : url;
    type Request = new (url: unknown, ...rest: unknown[]) => object;
    const scope = globalThis as unknown as {
        [request: string]: Request | undefined;
    } & { importScripts: (...urls: string[]) => void; WorkerGlobalScope: { prototype: object } };
    const { importScripts } = scope;
    scope.importScripts = (...urls) => importScripts(...urls.map((url) => absolute(url) as string));
    const { fetch } = globalThis;
    globalThis.fetch = (input, init) => fetch(absolute(input) as RequestInfo, init);
    for (const name of requests) {
        const request = scope[name];
        if (!request) continue;
        scope[name] = new Proxy(request, {
            construct: (target, [url, ...rest], newTarget) => Reflect.construct(target, [absolute(url), ...rest], newTarget) as object,
        });
    }
    const { open } = XMLHttpRequest.prototype;
    XMLHttpRequest.prototype.open = function (this: XMLHttpRequest, method: string, url: string | URL, ...rest: [boolean?, string?, string?]) {
        open.call(this, method, absolute(url) as string, ...(rest as [boolean]));
    } as typeof open;
    Object.defineProperty(scope.WorkerGlobalScope.prototype, 'location', { configurable: true, value: new URL(address) });
}
