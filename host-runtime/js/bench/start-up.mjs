// What probes cost a program's start: `node bench/start-up.mjs`. Each module is compiled in a fresh process, or page, as it is, with
// probes for the first time, and with probes from the cache, in turn. Times are medians, and ratios to the module as it is. `stands still`
// is the longest time in which a page's main thread did nothing else.
//
// Goals, for modules of 1 to 10 MB: first 1.5, from the cache 1.05; never still for more than 50 ms.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { launch } from '../test/support/chromium.mjs';
import { PACKAGE } from '../test/support/cli.mjs';
import { serve } from '../test/support/server.mjs';

const ROUNDS = Number(process.env.KPERF_ROUNDS ?? 5);
const MODULES = process.argv.length > 2 ? process.argv.slice(2) : [
    'sql.js/dist/sql-wasm.wasm', '@resvg/resvg-wasm/index_bg.wasm', '@bytecodealliance/jco-transpile/vendor/js-component-bindgen-component.core.wasm',
].map((path) => join(PACKAGE, 'node_modules', path));

const median = (times) => times.sort((a, b) => a - b)[times.length >> 1];
const show = (host, path, bytes, { plain, first, cached }, still) => {
    const [a, b, c] = [plain, first, cached].map((times) => median(times));
    const stands = still ? `; stands still ${median(still.plain).toFixed(0)}, ${median(still.first).toFixed(0)}, ${median(still.cached).toFixed(0)} ms` : '';
    console.log(`${host}  ${basename(path)}, ${(bytes / 1e6).toFixed(1)} MB: compiled in ${a.toFixed(0)} ms; with probes first ${b.toFixed(0)} (x${(b / a).toFixed(1)}), from the cache ${c.toFixed(0)} (x${(c / a).toFixed(2)})${stands}`);
};

const folder = mkdtempSync(join(tmpdir(), 'kperf-start-'));
const COMPILE = `
    const { readFileSync } = await import('node:fs');
    const bytes = readFileSync(process.argv[1]);
    const begun = performance.now();
    await WebAssembly.compile(bytes);
    console.log(performance.now() - begun);`;
function inNode(path, flags, cache) {
    const env = { ...process.env, KPERF_CACHE: cache, KPERF_TRACE: join(folder, 'x.kperf'), KPERF_QUIET: '1' };
    return Number(execFileSync(process.execPath, ['--no-warnings', ...flags, '--input-type=module', '--eval', COMPILE, path], { env, encoding: 'utf8' }));
}
const register = ['--import', join(PACKAGE, 'dist/node/register.js')];
for (const path of MODULES) {
    const times = { plain: [], first: [], cached: [] };
    for (let n = 0; n < ROUNDS; n++) {
        times.plain.push(inNode(path, [], '0'));
        times.first.push(inNode(path, register, join(folder, String(n))));
        times.cached.push(inNode(path, register, join(folder, String(n))));
    }
    show('node', path, readFileSync(path).length, times);
}

const page = (tag) => `<!doctype html><link rel="icon" href="data:,">${tag}<script type="module">
    globalThis.result = (async () => {
        const response = await fetch('module.wasm');
        const bytes = await response.arrayBuffer();
        let [still, last, on] = [0, performance.now(), true];
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => {
            const now = performance.now();
            still = Math.max(still, now - last);
            last = now;
            if (on) port2.postMessage(0);
        };
        port2.postMessage(0);
        await new Promise((resolve) => setTimeout(resolve, 200));
        still = 0;
        const begun = performance.now();
        await WebAssembly.compile(bytes);
        const time = performance.now() - begun;
        await new Promise((resolve) => setTimeout(resolve, 20));
        on = false;
        return { time, still };
    })();</script>`;
const browser = await launch();
for (const path of MODULES) {
    const tag = '<script src="kperf.js" data-probe="auto" data-post="/traces"></script>';
    const files = Object.fromEntries(['kperf.js', 'rewriter.wasm', 'worklet.js'].map((name) => [`/${name}`, readFileSync(join(PACKAGE, 'dist', name))]));
    const server = await serve({ ...files, '/plain': page(''), '/probed': page(tag), '/module.wasm': readFileSync(path) }, { isolated: true });
    const [times, still] = [{ plain: [], first: [], cached: [] }, { plain: [], first: [], cached: [] }];
    for (let n = 0; n < ROUNDS; n++) {
        const context = await browser.newContext();
        for (const [name, address] of [['plain', 'plain'], ['first', 'probed'], ['cached', 'probed']]) {
            const opened = await context.newPage();
            await opened.goto(server.url + address);
            const result = await opened.evaluate(() => globalThis.result);
            times[name].push(result.time);
            still[name].push(result.still);
            // What is kept is kept a little later.
            await opened.waitForTimeout(300);
            await opened.close();
        }
        await context.close();
    }
    show('chromium', path, readFileSync(path).length, times, still);
    await server.close();
}
await browser.close();
rmSync(folder, { recursive: true });
