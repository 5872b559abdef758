/** Brings the recorder into the workers that a page starts. */

/**
 * Wraps `Worker`: a worker of the page's own origin loads `script`, this package's, with these settings before its own. It
 * begins as a text of ours, so what it takes its own address from is put right: `location`, relative addresses of
 * `importScripts`, `fetch` and `XMLHttpRequest`. Shared workers and those of other origins are left alone.
 */
export function reachWorkers(script: string, config: object): void {
    globalThis.Worker = new Proxy(Worker, {
        construct(target, [url, options]: ConstructorParameters<typeof Worker>, newTarget) {
            const address = new URL(url, document.baseURI);
            const isOurs = options?.name === 'kperf-ticker';
            const isReached = !isOurs && (address.origin === location.origin || address.protocol === 'blob:');
            const entry = isReached ? begin(script, config, address.href, options?.type === 'module') : url;
            return Reflect.construct(target, [entry, options], newTarget) as object;
        },
    });
}

/** The address of a script that loads ours and then the worker's. */
function begin(script: string, config: object, address: string, isModule: boolean): string {
    const settings = `globalThis.kperfConfig = ${JSON.stringify(config)};\n(${asIf.toString()})(${JSON.stringify(address)});`;
    const [first, then] = [script, address].map((url) => JSON.stringify(url));
    if (!isModule) return textUrl(`${settings}\nimportScripts(${first});\nimportScripts(${then});`);
    // Static imports alone: a worker that waits for one misses the messages that come meanwhile.
    return textUrl(`import ${JSON.stringify(textUrl(settings))};\nimport ${first};\nimport ${then};`);
}

function textUrl(text: string): string {
    return URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
}

/** Runs in the worker: makes it look as if it had begun at an address. It is sent as a text, and knows nothing else of this file. */
function asIf(address: string): void {
    const absolute = (url: unknown): unknown =>
        typeof url === 'string' || url instanceof URL ? new URL(url, address).href : url;
    const scope = globalThis as unknown as { importScripts: (...urls: string[]) => void; WorkerGlobalScope: { prototype: object } };
    const { importScripts } = scope;
    scope.importScripts = (...urls) => importScripts(...urls.map((url) => absolute(url) as string));
    const { fetch } = globalThis;
    globalThis.fetch = (input, init) => fetch(absolute(input) as RequestInfo, init);
    const { open } = XMLHttpRequest.prototype;
    XMLHttpRequest.prototype.open = function (this: XMLHttpRequest, method: string, url: string | URL, ...rest: [boolean?, string?, string?]) {
        open.call(this, method, absolute(url) as string, ...(rest as [boolean]));
    } as typeof open;
    Object.defineProperty(scope.WorkerGlobalScope.prototype, 'location', { configurable: true, value: new URL(address) });
}
