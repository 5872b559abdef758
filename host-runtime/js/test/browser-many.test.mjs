// A page that makes many instances, each with a memory of its own. As a test they are few; `scripts/bench --part
// many-js 10000` makes so many, and compares time and memory with the page without a recorder.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import wabt from 'wabt';
import { listening } from './support/asking.mjs';
import { launch, open } from './support/chromium.mjs';
import { folder } from './support/cli.mjs';
import { isHere as firefoxIsHere, visit } from './support/firefox.mjs';
import { memoryOf } from './support/memory.mjs';
import { start } from './support/serve.mjs';

/** A page has room for some 100 memories at a time. */
const INSTANCES = Number(process.env.KPERF_MANY ?? 300);
/** Times of fewer instances are those of rewriting the module. */
const isLong = INSTANCES >= 10_000;
/** How often the time without a recorder, and so many MB over its memory. */
const TIMES = 3, OVER_PLAIN = 150;

const { parseWat } = await wabt();
const module = parseWat('many.wat', `(module (memory 1)
    (func $leaf (param i32) (result i32) (i32.add (local.get 0) (i32.const 1)))
    (func (export "work") (param i32) (result i32) (call $leaf (local.get 0))))`, {});
const FILES = {
    '/many.wasm': ['application/wasm', module.toBinary({ write_debug_names: true }).buffer],
    '/': ['text/html', `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><script>
        globalThis.result = (async () => {
            const module = await WebAssembly.compileStreaming(fetch('/many.wasm'));
            const begun = performance.now();
            let sum = 0;
            for (let n = 0; n < ${INSTANCES}; n++) {
                // Both ways, and several in one turn.
                const instance = n % 2 ? new WebAssembly.Instance(module) : await WebAssembly.instantiate(module);
                sum += instance.exports.work(n);
                if (n % 100 === 99) await new Promise((resolve) => setTimeout(resolve));
            }
            return { sum, time: performance.now() - begun };
        })();
        result.catch(String).then((answer) => fetch('/answer', { method: 'POST', body: JSON.stringify(answer) }));
    </script>`],
};
let answer;
const site = createServer((request, response) => {
    if (request.method === 'POST') {
        return request.toArray().then((parts) => {
            answer = JSON.parse(Buffer.concat(parts));
            response.end();
        });
    }
    const [type, body] = FILES[request.url] ?? ['text/plain', ''];
    const isolated = { 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp' };
    response.writeHead(type === 'text/plain' ? 404 : 200, { 'content-type': type, ...isolated }).end(Buffer.from(body));
});
const url = await listening(site);
const browser = await launch();
after(async () => {
    await browser.close();
    site.closeAllConnections();
    site.close();
});

/** What a page answers, and its memory. */
const BROWSERS = {
    Chromium: async (address) => {
        const { page, result } = await open(browser, address);
        return { ...result, most: memoryOf(/--type=renderer/), close: () => page.close() };
    },
    Firefox: async (address) => {
        let most = 0;
        answer = undefined;
        const result = await visit(address, () => {
            most = Math.max(most, memoryOf(/firefox.*-contentproc/));
            return answer;
        });
        return { ...result, most, close: () => undefined };
    },
};

for (const [name, run] of Object.entries(BROWSERS)) {
    // The short form has one of both.
    const skip = name === 'Firefox' && (!firefoxIsHere || (!isLong && process.env.KPERF_TESTS !== 'all'));
    for (const record of ['trace', 'profile']) {
        test(`a ${record} of ${INSTANCES} instances in ${name}`, { skip }, async (t) => {
            const plain = await run(`${url}/`);
            await plain.close();
            const server = await start(folder(), '--proxy', url, '--record', record);
            const { sum, time, most, close } = await run(server.url);
            assert.equal(sum, plain.sum);
            assert.equal(sum, (INSTANCES * (INSTANCES + 1)) / 2);
            const figures = (time, most) => `${Math.round(time)} ms and ${Math.round(most)} MB`;
            t.diagnostic(`${figures(time, most)}, plain ${figures(plain.time, plain.most)}`);
            if (isLong) assert.ok(time < TIMES * plain.time + 1000 && most < plain.most + OVER_PLAIN);
            // Firefox, which is killed, loses its last tenths of a second.
            if (name === 'Chromium') await server.untilReported(([{ calls }]) => calls === 2 * INSTANCES);
            await close();
            await server.end();
        });
    }
}
