/** Loads the recorder into the workers that a page starts, and into their workers. */

import { warn } from './warn.js';

/** Functions and classes that make a request of an address, which may be relative. */
const REQUESTS = ['Request', 'EventSource', 'WebSocket'] as const;

/** The settings of workers: see `PageConfig`. */
interface WorkerConfig {
    server?: string;
    idle?: boolean;
}

/**
 * Wraps `Worker`. A worker of the page's own origin first loads `script`, which is this package, with these settings, and then
 * its own script. The worker starts from a text of ours, so everything that depends on its address is corrected: `location`, and
 * relative addresses in `importScripts` and in requests. Shared workers and workers of other origins stay as they are.
 */
export function reachWorkers(script: string, config: WorkerConfig): void {
    // In a worker that has the recorder, `location` is corrected already.
    const base = globalThis.document?.baseURI ?? location.href;
    rememberBlobs();
    globalThis.Worker = new Proxy(Worker, {
        construct(target, [url, options]: ConstructorParameters<typeof Worker>, newTarget) {
            const address = isOurs(options) ? undefined : reachable(url, base, config);
            const entry = address && begin(script, config, address, options?.type === 'module');
            started ||= entry !== undefined;
            return Reflect.construct(target, [entry ?? url, options], newTarget) as object;
        },
    });
}

let started = false;

/** Whether any worker has the recorder. */
export function hasWorkers(): boolean {
    return started;
}

/** What stands before the settings, in the address from which `kperf-wasm serve` starts a worker. */
const SETTINGS = '#kperf=';

/** Makes a worker that `kperf-wasm serve` has started what it would be without. Does nothing elsewhere. */
export function enterWorker(): void {
    if (!('WorkerGlobalScope' in globalThis) || !location.hash.startsWith(SETTINGS)) return;
    const { config, address } = JSON.parse(decodeURIComponent(location.hash.slice(SETTINGS.length))) as { config: WorkerConfig; address: string };
    globalThis.kperfConfig = config;
    asIf(address, REQUESTS);
}

/** Lets the page's worklets run modules with probes, though they can't record them. `url` is that of `worklet.js`. */
export function reachWorklets(url: string | URL): void {
    const { prototype } = globalThis.Worklet;
    const { addModule } = prototype;
    const reached = new WeakMap<Worklet, Promise<void>>();
    prototype.addModule = async function (...parameters) {
        // If that isn't there, the worklet is as it was.
        if (!reached.has(this)) reached.set(this, addModule.call(this, url).catch(() => undefined));
        await reached.get(this);
        return addModule.apply(this, parameters);
    };
}

/** The names of our own workers. */
export const [TICKER_NAME, SAMPLER_NAME, REWRITER_NAME] = ['kperf-ticker', 'kperf-sampler', 'kperf-rewriter'];

/** Whether this is one of our own workers. */
function isOurs(options: WorkerOptions | undefined): boolean {
    return [TICKER_NAME, SAMPLER_NAME, REWRITER_NAME].includes(options?.name ?? '');
}

/** The blobs that have addresses. */
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

/** What a policy says of workers, and of what they import: the first of these that it has. */
const OF_SCRIPTS = ['script-src', 'default-src'];
const OF_WORKERS = ['worker-src', 'child-src', ...OF_SCRIPTS];
/** With this, addresses of workers must be objects that only the page may make. */
const TRUSTED = 'require-trusted-types-for';

/** Whether a policy lets workers begin as texts of ours, and import such. A header may have several policies. */
function allowsBlobs(policies: string, imports: boolean): boolean {
    return policies.split(',').every((policy) => {
        const directives = policy.split(';').map((directive) => directive.trim().toLowerCase().split(/\s+/));
        const allows = (names: string[], words: string[]): boolean => {
            const sources = names.map((name) => directives.find(([own]) => own === name)).find((directive) => directive !== undefined);
            return !sources || words.some((word) => sources.includes(word));
        };
        const isOpen = !directives.some(([own]) => own === TRUSTED);
        return isOpen && allows(OF_WORKERS, ['blob:']) && (!imports || allows(OF_SCRIPTS, ['blob:', "'strict-dynamic'"]));
    });
}

/**
 * Whether the page's policies, in its head and in its header, let workers begin as texts of ours, and import such. A worker has those of
 * the page.
 */
function mayStartBlobs(imports: boolean): boolean {
    const metas = globalThis.document?.querySelectorAll<HTMLMetaElement>('meta[http-equiv="Content-Security-Policy" i]') ?? [];
    if (![...metas].every(({ content }) => allowsBlobs(content, imports)) || !allowsBlobs((ofHeader ??= askForPolicy()), imports)) {
        warn('the workers of this page are not recorded, and can run no module with probes that they are sent: its Content-Security-Policy doesn\'t let workers begin as blobs (`worker-src blob:`; for those that are blobs, `script-src blob:` too)');
        return false;
    }
    return true;
}

/** The policy in the page's header, when that is known. */
let ofHeader: string | undefined;
/** Of a page that may ask for nothing: it may start nothing. */
const NOTHING = "worker-src 'none'";

/**
 * The policy in the page's header. Nothing else tells it but the server, and a program doesn't wait for a worker: so it is asked, once,
 * while the page stands still.
 */
function askForPolicy(): string {
    if (!globalThis.document || !location.protocol.startsWith('http')) return '';
    // Not every server answers to `HEAD`.
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

/** A worker that is a text of its own, in its address. Such a one would be of no origin, and could load nothing of ours: it becomes a blob. */
function unfold(address: string): Blob | undefined {
    const [, type, content] = /^data:([^,]*),(.*)$/s.exec(address.split('#')[0]!) ?? [];
    if (content === undefined) return undefined;
    // A character for each byte. Addresses have no others.
    const text = content.replace(/%([0-9a-f]{2})/gi, (_, digits) => String.fromCharCode(parseInt(digits, 16)));
    try {
        const bytes = type!.endsWith(';base64') ? atob(text) : text;
        return new Blob([Uint8Array.from(bytes, (character) => character.charCodeAt(0))], { type: 'text/javascript' });
    } catch {
        // The browser says what is wrong with it.
        return undefined;
    }
}

/** The absolute address of a worker that can get the recorder. The browser refuses an address that makes no sense. */
function reachable(url: string | URL, base: string, { idle }: WorkerConfig): string | undefined {
    if (!URL.canParse(String(url), base)) return undefined;
    const { href, origin, protocol } = new URL(url, base);
    // A worker of no origin would get the page's. That is worth it only where it is recorded.
    return origin === location.origin || protocol === 'blob:' || (protocol === 'data:' && !idle) ? href : undefined;
}

/** The address of a text that loads our script and then the worker's; `undefined` if the page's policy doesn't let it. */
function begin(script: string, config: WorkerConfig, address: string, isModule: boolean): string | undefined {
    const settings = { ...config, script };
    if (config.server !== undefined && address.startsWith('http')) {
        // A blob would have the page's policy in the place of the worker's own.
        const [{ pathname, search }, entry] = [new URL(address), new URL('worker.js', script)];
        entry.search = `?${isModule ? 'module&' : ''}to=${encodeURIComponent(pathname + search)}`;
        return entry.href + SETTINGS + encodeURIComponent(JSON.stringify({ config: settings, address }));
    }
    const blob = blobs.get(address) ?? unfold(address);
    if (address.startsWith('data:') && !blob) return undefined;
    // What a module worker imports comes under the same policy as the worker itself.
    if (!mayStartBlobs(!isModule && blob !== undefined)) return undefined;
    const start = `globalThis.kperfConfig = ${JSON.stringify(settings)};\n(${asIf.toString()})(${JSON.stringify(address)}, ${JSON.stringify(REQUESTS)});`;
    // A page may revoke the address of a blob as soon as it has made the worker.
    const [first, then] = [script, blob ? URL.createObjectURL(typed(blob, isModule)) : address].map((url) => JSON.stringify(url));
    if (!isModule) return textUrl(`${start}\nimportScripts(${first});\nimportScripts(${then});`);
    // Only static imports: a worker that awaits a dynamic import misses messages that come meanwhile.
    return textUrl(`import ${JSON.stringify(textUrl(start))};\nimport ${first};\nimport ${then};`);
}

/** A classic worker may begin with a blob of no type, but in Firefox it can't import one. */
function typed(blob: Blob, isModule: boolean): Blob {
    return isModule ? blob : new Blob([blob], { type: 'text/javascript' });
}

function textUrl(text: string): string {
    return URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
}

/** Runs in the worker and makes it look as if it had started at an address. It is sent as text, so it can't use the rest of this file. */
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
