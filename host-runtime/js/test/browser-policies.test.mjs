// Content-Security-Policies of pages and workers, with the script's tag and with `serve`: workers run as before, and
// are recorded if possible.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import wabt from 'wabt';
import { launch } from './support/chromium.mjs';
import { folder } from './support/cli.mjs';
import { effort } from './support/effort.mjs';
import { isHere as firefoxIsHere, visit } from './support/firefox.mjs';
import { start } from './support/serve.mjs';

const calls = (await wabt()).parseWat('calls.wat', readFileSync('test/programs/calls.wat', 'utf8')).toBinary({}).buffer;

/** Policies in a page's header. `blobs`: whether its workers may begin as texts. */
const POLICIES = {
    none: { policy: '', blobs: true },
    all: { policy: "default-src 'self' 'wasm-unsafe-eval' 'nonce-abc'", blobs: false },
    'workers may be texts': {
        policy: "default-src 'self' 'wasm-unsafe-eval' 'nonce-abc'; worker-src 'self' blob:", blobs: true,
    },
    scripts: { policy: "script-src 'self' 'nonce-abc'", blobs: false },
    'no requests': { policy: "connect-src 'none'; script-src 'self' 'nonce-abc'", blobs: false },
    workers: { policy: "worker-src 'self'", blobs: false },
    children: { policy: "worker-src 'self'; child-src 'none'", blobs: false },
    nonces: { policy: "script-src 'nonce-abc' 'strict-dynamic' 'wasm-unsafe-eval'", blobs: false },
    sandbox: { policy: 'sandbox allow-scripts allow-same-origin', blobs: true },
    'two headers': { policy: ["script-src 'self' 'nonce-abc'", "connect-src 'self'"], blobs: false },
};
const USE =
    "WebAssembly.instantiateStreaming(fetch('/calls.wasm'), { host: { call() {} } }).then(({ instance }) => (instance.exports.leaf(), 'done' + location.pathname + location.hash), () => 'fails')";
const MAIN = `
    const run = (make) => new Promise((resolve) => {
        setTimeout(() => resolve('nothing'), 30_000);
        try {
            const worker = make();
            worker.onmessage = ({ data }) => resolve(data);
            worker.onerror = () => resolve('error');
        } catch (error) {
            resolve('throws ' + error.name);
        }
    });
    globalThis.result = (async () => [
        await run(() => new Worker('/worker.js#a')),
        await run(() => new Worker('/worker.js', { type: 'module' })),
        await run(() => new SharedWorker('/shared.js').port),
    ])();`;
const TAG =
    '<script nonce="abc" src="/kperf.js" data-probe="import" data-clock="precise" data-post="/traces"></script>';
const files = {
    '/': ['text/html', `<!doctype html><link rel="icon" href="data:,"><script nonce="abc" src="/main.js"></script>`],
    '/tag': [
        'text/html', `<!doctype html>${TAG}<link rel="icon" href="data:,"><script nonce="abc" src="/main.js"></script>`,
    ],
    '/main.js': ['text/javascript', MAIN],
    '/worker.js': ['text/javascript', `${USE}.then((answer) => postMessage(answer));`],
    '/shared.js': [
        'text/javascript', `onconnect = ({ ports: [port] }) => ${USE}.then((answer) => port.postMessage(answer));`,
    ],
    '/calls.wasm': ['application/wasm', calls],
    ...Object.fromEntries(['kperf.js', 'worklet.js', 'rewriter.wasm'].map((name) =>
        [`/${name}`, [name.endsWith('.js') ? 'text/javascript' : 'application/wasm', readFileSync(`dist/${name}`)]])),
};
let [ofPage, ofWorker] = ['', ''];
const traces = new Set();
const site = createServer((request, response) => {
    if (request.method === 'POST' && request.headers['kperf-trace']) {
        traces.add(request.headers['kperf-trace']);
        return request.resume().on('end', () => response.end());
    }
    const [type, body] = files[request.url] ?? [];
    if (!type) return response.writeHead(404).end();
    const policy = type === 'text/html' ? ofPage : ofWorker;
    response
        .writeHead(200, { 'content-type': type, ...(policy.length > 0 && { 'content-security-policy': policy }) })
        .end(request.method === 'HEAD' ? undefined : body);
});
await new Promise((resolve) => site.listen(0, '127.0.0.1', resolve));
after(() => {
    site.closeAllConnections();
    site.close();
});
const url = `http://127.0.0.1:${site.address().port}/`;
const browser = await launch();
after(() => browser.close());

async function resultOf(address) {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(address);
    const result = await page.evaluate(() => globalThis.result);
    return { result, close: () => context.close() };
}

test('workers do what they do without', async (t) => {
    const server = await start(folder(), '--proxy', url.slice(0, -1));
    for (const [index, [name, { policy, blobs }]] of Object.entries(POLICIES).entries()) {
        for (const own of effort([index % 2 === 0], [true, false])) {
            await t.test(`${name}, ${own ? 'of workers too' : 'of the page alone'}`, async () => {
                [ofPage, ofWorker] = [policy, own ? policy : ''];
                const plain = await resultOf(url);
                await plain.close();
                const before = traces.size;
                const tag = await resultOf(`${url}tag`);
                const expected = plain.result.filter((answer) => answer.startsWith('done')).length;
                assert.ok(expected > 0 || own, JSON.stringify(plain.result));
                assert.deepEqual(tag.result, plain.result);
                const recorded = blobs ? 2 : 0;
                for (let n = 0; n < 100 && traces.size < before + recorded; n++) {
                    await new Promise((resolve) => setTimeout(resolve, 50));
                }
                assert.equal(traces.size, before + recorded);
                await tag.close();
                const callsOf = (reports) => reports.reduce((sum, { calls }) => sum + calls, 0);
                const known = callsOf(server.reports());
                const served = await resultOf(server.url);
                assert.deepEqual(served.result, plain.result);
                // Those that aren't shared are recorded, whatever the policy.
                const runs = plain.result.slice(0, 2).filter((answer) => answer.startsWith('done')).length;
                await server.untilReported((reports) => callsOf(reports) >= known + runs);
                await served.close();
            });
        }
    }
    await server.end();
});

/** Workers by the page's policy for Trusted Types, and one by a string, which that policy forbids. */
const TYPED = `
    const policy = trustedTypes.createPolicy('app', { createScriptURL: (url) => url });
    const typed = (url) => policy.createScriptURL(url);
    const run = (make) => new Promise((resolve) => {
        try {
            make().onmessage = ({ data }) => resolve(data);
        } catch (error) {
            resolve('throws ' + error.name);
        }
    });
    globalThis.result = (async () => {
        const found = [
            await ${USE}, await run(() => new Worker(typed('/worker.js'))), await run(() => new Worker('/worker.js')),
            await run(() => new SharedWorker(typed('/shared.js')).port),
        ];
        await navigator.serviceWorker.register(typed('/service.js'));
        await navigator.serviceWorker.ready;
        return found;
    })();`;
const TRUSTED = "require-trusted-types-for 'script'; trusted-types app";

test('Trusted Types are named where they forbid workers, and workers of other kinds by the server', async () => {
    const icon = '<link rel="icon" href="data:,">';
    const meta = `<meta http-equiv="Content-Security-Policy" content="${TRUSTED}">`;
    const main = '<script src="/typed.js"></script>';
    Object.assign(files, {
        '/typed.js': ['text/javascript', TYPED],
        '/service.js': ['text/javascript', "addEventListener('install', () => skipWaiting());"],
        '/header': ['text/html', `<!doctype html>${icon}${main}`],
        '/header-tag': ['text/html', `<!doctype html>${TAG}${icon}${main}`],
        '/meta': ['text/html', `<!doctype html><head>${meta}${icon}</head>${main}`],
        '/meta-tag': ['text/html', `<!doctype html><head>${meta}${TAG}${icon}</head>${main}`],
    });
    const visited = async (address) => {
        const context = await browser.newContext();
        const page = await context.newPage();
        const lines = [];
        page.on('console', (message) => lines.push(message.text()));
        await page.goto(address);
        const found = await page.evaluate(() => globalThis.result);
        await context.close();
        const result = found.map((answer) => answer.replace('-tag', ''));
        return { result, warned: lines.some((line) => /^kperf: the page's workers .*\(Trusted Types\)$/.test(line)) };
    };
    for (const where of ['header', 'meta']) {
        [ofPage, ofWorker] = [where === 'header' ? TRUSTED : '', ''];
        const { result: expected } = await visited(url + where);
        assert.deepEqual([expected[1].slice(0, 4), expected[2]], ['done', 'throws TypeError']);
        assert.deepEqual(await visited(`${url}${where}-tag`), { result: expected, warned: true });
        const server = await start(folder(), '--proxy', url.slice(0, -1));
        const served = await visited(server.url + where);
        // The server takes the directive from headers.
        if (where === 'header') expected[2] = expected[1];
        assert.deepEqual(served, { result: expected, warned: where === 'meta' });
        const { stderr } = await server.end();
        assert.deepEqual(stderr.split('\n').filter((line) => line.includes('unrecorded')).sort(), [
            '/service.js: a service worker, which runs unrecorded', '/shared.js: a shared worker, which runs unrecorded',
        ]);
    }
});

test('in Firefox too', { skip: !firefoxIsHere && 'no Firefox' }, async () => {
    const told = [];
    files['/all'] = [
        'text/html', `<!doctype html><link rel="icon" href="data:,"><script nonce="abc" src="/all.js"></script>`,
    ];
    files['/all.js'] = [
        'text/javascript',
        `${MAIN} result.then((answers) => fetch('/told', { method: 'POST', body: JSON.stringify(answers) }));`,
    ];
    site.prependListener('request', (request) =>
        request.url === '/told' && request.toArray().then((parts) => told.push(JSON.parse(Buffer.concat(parts)))));
    [ofPage, ofWorker] = ["default-src 'self' 'wasm-unsafe-eval'; script-src 'self' 'nonce-abc'", ''];
    const server = await start(folder(), '--proxy', url.slice(0, -1));
    for (const address of [url, server.url]) await visit(`${address}all`, () => told[address === url ? 0 : 1]);
    assert.deepEqual(told[1], told[0]);
    assert.match(told[0][0], /^done/);
    await server.end();
});
