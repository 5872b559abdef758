/** Brings the recorder into the workers that a page starts, and into those that they start. */

/** What makes a request of an address, and may be given one that is relative. */
const REQUESTS = ['Request', 'EventSource', 'WebSocket'] as const;

/**
 * Wraps `Worker`: a worker of the page's own origin loads `script`, this package's, with these settings before its own. It
 * begins as a text of ours, so what it takes its own address from is put right: `location`, relative addresses of
 * `importScripts` and of requests. Shared workers and those of other origins are left alone.
 */
export function reachWorkers(script: string, config: object): void {
    // Within a worker that was reached `location` is put right already.
    const base = globalThis.document?.baseURI ?? location.href;
    globalThis.Worker = new Proxy(Worker, {
        construct(target, [url, options]: ConstructorParameters<typeof Worker>, newTarget) {
            const address = isOurs(options) ? undefined : reachable(url, base);
            const entry = address ? begin(script, config, address, options?.type === 'module') : url;
            return Reflect.construct(target, [entry, options], newTarget) as object;
        },
    });
}

/** Names of workers of ours. */
export const [TICKER_NAME, SAMPLER_NAME] = ['kperf-ticker', 'kperf-sampler'];

/** Whether a worker is one of ours. */
function isOurs(options: WorkerOptions | undefined): boolean {
    return options?.name === TICKER_NAME || options?.name === SAMPLER_NAME;
}

/** The whole address of a worker that is reached. One that makes no sense is the browser's to refuse. */
function reachable(url: string | URL, base: string): string | undefined {
    if (!URL.canParse(String(url), base)) return undefined;
    const { href, origin, protocol } = new URL(url, base);
    return origin === location.origin || protocol === 'blob:' ? href : undefined;
}

/** The address of a script that loads ours and then the worker's. */
function begin(script: string, config: object, address: string, isModule: boolean): string {
    const settings = `globalThis.kperfConfig = ${JSON.stringify({ ...config, script })};\n(${asIf.toString()})(${JSON.stringify(address)}, ${JSON.stringify(REQUESTS)});`;
    const [first, then] = [script, address].map((url) => JSON.stringify(url));
    if (!isModule) return textUrl(`${settings}\nimportScripts(${first});\nimportScripts(${then});`);
    // Static imports alone: a worker that waits for one misses the messages that come meanwhile.
    return textUrl(`import ${JSON.stringify(textUrl(settings))};\nimport ${first};\nimport ${then};`);
}

function textUrl(text: string): string {
    return URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
}

/** Runs in the worker: makes it look as if it had begun at an address. It is sent as a text, and knows nothing else of this file. */
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
