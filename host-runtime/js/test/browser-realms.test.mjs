// All ways in which pages, frames, workers and worklets get a module, with `serve`: the app works as without it, and is
// recorded if possible. Nothing is left when the server has ended.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, test } from 'node:test';
import wabt from 'wabt';
import { launch } from './support/chromium.mjs';
import { folder } from './support/cli.mjs';
import { effort } from './support/effort.mjs';
import { isHere as firefoxIsHere, visit } from './support/firefox.mjs';
import { start } from './support/serve.mjs';

const work = folder();
const FIB = `(module (func $fib (export "fib") (param i32) (result i32)
    (if (result i32) (i32.lt_s (local.get 0) (i32.const 2)) (then (local.get 0))
        (else (i32.add (call $fib (i32.sub (local.get 0) (i32.const 1))) (call $fib (i32.sub (local.get 0) (i32.const 2))))))))`;
const fib = Buffer.from((await wabt()).parseWat('fib.wat', FIB).toBinary({ write_debug_names: true }).buffer);
/** How many calls fib(15) has. */
const CALLS = 1973;
const INTEGRITY = `sha384-${createHash('sha384').update(fib).digest('base64')}`;

const HERE = `WebAssembly.instantiateStreaming(fetch('fib.wasm')).then(({ instance }) => instance.exports.fib(15))`;
const IN_WORKER = `onmessage = async ({ data }) => {
    try {
        const source = typeof data === 'string' ? await (await fetch(data)).arrayBuffer() : data;
        const made = await WebAssembly.instantiate(source);
        postMessage([(made.instance ?? made).exports.fib(15), location.protocol]);
    } catch (error) { postMessage(String(error)); }
};`;
const asked = (worker, message) => `new Promise((resolve, reject) => {
    const worker = ${worker};
    (worker.port ?? worker).onmessage = ({ data }) => resolve(data);
    worker.onerror = ({ message }) => reject(new Error('the worker failed: ' + message));
    (worker.port ?? worker).postMessage(${message});
})`;
const URL_HERE = `new URL('fib.wasm', location).href`;
const framed = (make) => `(async () => {
    const frame = document.createElement('iframe');
    ${make}
    document.body.append(frame);
    await new Promise((resolve) => (frame.onload = resolve));
    return frame.contentWindow.result;
})()`;
const FRAME = `<script type=module>globalThis.result = ${HERE.replaceAll("'", '"')}</` + 'script>';

/** What pages do, and how often fib is recorded. `head` goes into the page, `headers` into its answer. */
const PAGES = {
    stream: { script: HERE, runs: 1 },
    bytes: {
        script: `fetch('fib.wasm').then((r) => r.arrayBuffer()).then((bytes) => WebAssembly.instantiate(bytes)).then(({ instance }) => instance.exports.fib(15))`,
        runs: 1,
    },
    base64: {
        script: `new WebAssembly.Instance(new WebAssembly.Module(Uint8Array.from(atob('${fib.toString('base64')}'), (c) => c.charCodeAt(0)))).exports.fib(15)`,
        runs: 1,
    },
    integrity: { script: HERE.replace("'fib.wasm'", `'fib.wasm', { integrity: '${INTEGRITY}' }`), runs: 1 },
    preload: { head: '<link rel="preload" as="fetch" crossorigin href="fib.wasm">', script: HERE, runs: 1 },
    worker: { script: asked(`new Worker('worker.js')`, URL_HERE), runs: 1 },
    'module worker': { script: asked(`new Worker('worker.js', { type: 'module' })`, URL_HERE), runs: 1 },
    'posted module': {
        script: `WebAssembly.compileStreaming(fetch('fib.wasm')).then((module) => ${asked(`new Worker('worker.js')`, 'module')})`,
        runs: 1,
    },
    'blob worker': { script: asked(
        `new Worker(URL.createObjectURL(new Blob([${JSON.stringify(IN_WORKER)}], { type: 'text/javascript' })))`,
        URL_HERE,
    ), runs: 1 },
    'revoked blob': { script: `(() => {
        const url = URL.createObjectURL(new Blob([${JSON.stringify(IN_WORKER)}], { type: 'text/javascript' }));
        const answer = ${asked('new Worker(url)', URL_HERE)};
        URL.revokeObjectURL(url);
        return answer;
    })()`, runs: 1 },
    'data worker': {
        script: `WebAssembly.compileStreaming(fetch('fib.wasm')).then((module) => ${asked(`new Worker('data:text/javascript,' + encodeURIComponent(${JSON.stringify(IN_WORKER)}))`, 'module')})`,
        runs: 1,
    },
    'data worker in base64': {
        script: `WebAssembly.compileStreaming(fetch('fib.wasm')).then((module) => ${asked(`new Worker('data:text/javascript;base64,${Buffer.from(IN_WORKER).toString('base64')}')`, 'module')})`,
        runs: 1,
    },
    'shared worker': { script: asked(`new SharedWorker('shared.js')`, URL_HERE), runs: 0 },
    frame: { script: framed(`frame.src = 'stream.html';`), runs: 1 },
    srcdoc: { script: framed(`frame.srcdoc = ${JSON.stringify(FRAME).replace('</', '<\\/')};`).replace(
        'return frame.contentWindow.result', 'return Promise.all([frame.contentWindow.result, frame.srcdoc.length])',
    ), runs: 1 },
    'module of the page in a frame': { script: `(async () => {
        const module = await WebAssembly.compileStreaming(fetch('fib.wasm'));
        const frame = document.createElement('iframe');
        document.body.append(frame);
        return new frame.contentDocument.defaultView.WebAssembly.Instance(module).exports.fib(15);
    })()`, runs: 1 },
    'about:blank': { script: `(async () => {
        const frame = document.createElement('iframe');
        document.body.append(frame);
        const { instance } = await frame.contentWindow.WebAssembly.instantiateStreaming(fetch('fib.wasm'));
        return instance.exports.fib(15);
    })()`, runs: 1 },
    audio: { script: `(async () => {
        const context = new OfflineAudioContext(1, 1280, 44100);
        await context.audioWorklet.addModule('audio.js');
        const module = await WebAssembly.compileStreaming(fetch('fib.wasm'));
        const node = new AudioWorkletNode(context, 'p', { processorOptions: { module } });
        node.connect(context.destination);
        const answer = new Promise((resolve) => (node.port.onmessage = ({ data }) => resolve(data)));
        void context.startRendering();
        return answer;
    })()`, runs: 0 },
    'policy in the page': {
        head: `<meta http-equiv="Content-Security-Policy" content="default-src 'self' data:; script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'; worker-src 'self'">`,
        script: `Promise.all([${HERE}, ${asked(`new Worker('worker.js')`, URL_HERE)}])`, runs: 2,
    },
    'nonce in the page': {
        head: `<meta http-equiv="Content-Security-Policy" content="script-src 'nonce-abc' 'wasm-unsafe-eval'">`,
        script: HERE, runs: 1,
    },
    'policy in the header': {
        headers: { 'content-security-policy': "default-src 'self' 'unsafe-inline' 'wasm-unsafe-eval' data:" },
        script: `Promise.all([${HERE}, ${asked(`new Worker('worker.js')`, URL_HERE)}])`, runs: 2,
    },
    'nonce in the header': {
        headers: { 'content-security-policy': "script-src 'nonce-abc' 'strict-dynamic' 'wasm-unsafe-eval'" },
        script: HERE, runs: 1,
    },
    'no WebAssembly by policy': {
        headers: { 'content-security-policy': "script-src 'self' 'unsafe-inline'" },
        script: `${HERE}.catch((error) => error.constructor.name)`, runs: 0,
    },
    XHTML: { type: 'application/xhtml+xml', script: HERE, runs: 1 },
    'packed by itself': { script: HERE.replace('fib.wasm', 'packed.wasm'), runs: 1 },
};
const nameOf = (page) => `/${page.replaceAll(/[ :]/g, '-')}.html`;
const text = ({ head = '', script, type }) => {
    const body = `globalThis.result = Promise.resolve().then(() => ${script}).then((ok) => ({ ok }), (error) => ({ error: String(error) }));`;
    if (type) {
        return `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title><link rel="icon" href="data:,"/></head><body><script>//<![CDATA[\n${body}\n//]]></script></body></html>`;
    }
    return `<!doctype html><html><head><meta charset="utf-8">${head}<link rel="icon" href="data:,"></head><body><script type="module" nonce="abc">${body}</script></body></html>`;
};

const { gzipSync } = await import('node:zlib');
const FILES = {
    '/fib.wasm': ['application/wasm', fib],
    '/packed.wasm': ['application/wasm', gzipSync(fib), { 'content-encoding': 'gzip' }],
    '/worker.js': ['text/javascript', IN_WORKER],
    '/shared.js': [
        'text/javascript',
        `onconnect = ({ ports: [port] }) => { globalThis.postMessage = (data) => port.postMessage(data); port.onmessage = (event) => onmessage(event); };\n${IN_WORKER}`,
    ],
    '/audio.js': ['text/javascript', `registerProcessor('p', class extends AudioWorkletProcessor {
        constructor({ processorOptions: { module } }) { super();
            try { this.port.postMessage(new WebAssembly.Instance(module).exports.fib(15));
                } catch (error) { this.port.postMessage(String(error)); } }
        process() { return false; }
    });`],
    ...Object.fromEntries(Object
        .entries(PAGES)
        .map(([name, page]) => [nameOf(name), [page.type ?? 'text/html', text(page), page.headers]])),
};
const site = createServer((request, response) => {
    const [type, body, headers] = FILES[new URL(request.url, 'http://x').pathname] ?? [];
    if (!type) return response.writeHead(404).end();
    // Pages without the server are isolated too, so that they can do the same.
    response.writeHead(200, {
        'content-type': type, 'cross-origin-opener-policy': 'same-origin',
        'cross-origin-embedder-policy': 'credentialless', ...headers,
    }).end(body);
});
await new Promise((resolve) => site.listen(0, '127.0.0.1', resolve));
after(() => {
    site.closeAllConnections();
    site.close();
});
const url = `http://127.0.0.1:${site.address().port}`;
const browser = await launch();
after(() => browser.close());

/** A page's result. */
async function resultOf(address) {
    const opened = await (await browser.newContext()).newPage();
    await opened.goto(address);
    const result = await opened.evaluate(() => globalThis.result);
    return { result, opened };
}

test('pages do behind the server what they do without', async (t) => {
    for (const [name, { runs }] of Object.entries(PAGES).filter((_, index) => index % effort(2, 1) === 0)) {
        await t.test(name, async () => {
            const plain = await resultOf(url + nameOf(name));
            await plain.opened.context().close();
            if (name !== 'no WebAssembly by policy') {
                assert.match(JSON.stringify(plain.result.ok) ?? '', /\b610\b/, JSON.stringify(plain.result));
            }
            const server = await start(work, '--proxy', url);
            const { result, opened } = await resultOf(server.url.replace(/\/$/, '') + nameOf(name));
            assert.deepEqual(result, plain.result);
            const count = (reports) => reports
                .flatMap(({ functions }) => functions)
                .filter((f) => f.name === 'fib')
                .reduce((sum, f) => sum + f.calls, 0);
            if (runs > 0) await server.untilReported((reports) => count(reports) >= runs * CALLS);
            await opened.close({ runBeforeUnload: true });
            const { reports } = await server.end();
            assert.equal(count(reports), runs * CALLS);
            await opened.context().close();
        });
    }
});

test('a service worker keeps modules as they were, and the app goes on when the server is gone', async () => {
    const folder = join(work, 'offline');
    mkdirSync(folder);
    const files = {
        'index.html': text({ script: `(async () => {
            await navigator.serviceWorker.register('sw.js');
            await navigator.serviceWorker.ready;
            if (!navigator.serviceWorker.controller) await new Promise((resolve) =>
                navigator.serviceWorker.addEventListener('controllerchange', resolve, { once: true }));
            return [await (await fetch('/in-service-worker')).text(), await ${HERE}];
        })()` }),
        'sw.js': `addEventListener('install', (event) => { skipWaiting(); event.waitUntil(caches.open('v1').then((cache) => cache.addAll(['/fib.wasm', '/']))); });
            addEventListener('activate', (event) => event.waitUntil(clients.claim()));
            const run = async () => {
                try {
                    const { instance } = await WebAssembly.instantiate(await (await caches.match('/fib.wasm'))
                        .arrayBuffer());
                    return new Response(String(instance.exports.fib(15)));
                } catch (error) { return new Response(String(error)); }
            };
            addEventListener('fetch', (event) => event.respondWith(new URL(event.request.url)
                .pathname === '/in-service-worker' ? run() : caches.match(event.request)
                    .then((kept) => kept ?? fetch(event.request))));`,
        'fib.wasm': fib,
    };
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
    const server = await start(work, folder);
    const context = await browser.newContext();
    const opened = await context.newPage();
    await opened.goto(server.url);
    assert.deepEqual(await opened.evaluate(() => globalThis.result), { ok: ['610', 610] });
    await server.untilReported((reports) => reports.some(({ calls }) => calls === CALLS));
    await server.end();
    await opened.goto(server.url);
    const again = await opened.evaluate(async () => ({
        result: await globalThis.result, kept: (await indexedDB.databases()).map(({ name }) => name),
        recorder: 'kperf' in globalThis,
    }));
    assert.deepEqual(again, { result: { ok: ['610', 610] }, kept: [], recorder: false });
    await context.close();
});

test('Firefox does the same', { skip: !firefoxIsHere && 'no Firefox' }, async () => {
    const names = Object.keys(PAGES).filter((name) => name !== 'XHTML');
    // One page opens the others in frames in sequence, and returns their results.
    FILES['/all.html'] = ['text/html', text({ script: `(async () => {
        const results = {};
        for (const page of ${JSON.stringify(names.map(nameOf))}) {
            const frame = document.createElement('iframe');
            frame.src = page;
            document.body.append(frame);
            await new Promise((resolve) => (frame.onload = resolve));
            results[page] = await frame.contentWindow.result;
            frame.remove();
        }
        await fetch('/told', { method: 'POST', body: JSON.stringify(results) });
    })()` })];
    let told;
    const listen = (request, response) => {
        if (request.url === '/told') request.toArray().then((parts) => (told = JSON.parse(Buffer.concat(parts))));
    };
    site.prependListener('request', listen);
    const ask = async (address) => {
        told = undefined;
        return visit(`${address}/all.html`, () => told);
    };
    const plain = await ask(url);
    const server = await start(work, '--proxy', url);
    const behind = await ask(server.url.replace(/\/$/, ''));
    await server.end();
    assert.deepEqual(behind, plain);
    assert.ok(
        Object.values(plain).filter(({ ok }) => /\b610\b/.test(JSON.stringify(ok))).length >= names.length - 2,
        JSON.stringify(plain),
    );
});
