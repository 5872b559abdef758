// Builds the page and serves it: `npm install && node serve.mjs [PORT]`. Wants the command `kperf-wasm`, or KPERF_WASM_CLI.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';

const here = import.meta.dirname;
const cli = process.env.KPERF_WASM_CLI ?? 'kperf-wasm';
mkdirSync(join(here, 'probed'), { recursive: true });
for (const language of ['rust', 'c', 'kotlin']) {
    const wasm = join(here, '../game-of-life', language, 'life.wasm');
    execFileSync(cli, ['rewrite', wasm, '-o', join(here, 'probed', `${language}.wasm`)], { stdio: 'ignore' });
}

// What the page imports by name comes from node_modules.
const importMap = { imports: { 'kperf-wasm': '/node_modules/kperf-wasm/dist/browser/index.js', '@bjorn3/browser_wasi_shim': '/node_modules/@bjorn3/browser_wasi_shim/dist/index.js' } };
const collector = process.env.OTEL_EXPORTER_OTLP_ENDPOINT;
const head = `${collector ? `<meta name="collector" content="${collector}">\n` : ''}<script type="importmap">${JSON.stringify(importMap)}</script>\n`;
const page = readFileSync(join(here, 'index.html'), 'utf8').replace('<script', `${head}<script`);
const types = { '.js': 'text/javascript', '.wasm': 'application/wasm' };

const server = createServer((request, response) => {
    const path = normalize(new URL(request.url, 'http://here').pathname);
    // With these two headers the page may have a ticker.
    response.setHeader('cross-origin-opener-policy', 'same-origin');
    response.setHeader('cross-origin-embedder-policy', 'require-corp');
    response.setHeader('content-type', types[extname(path)] ?? 'text/html');
    if (path === '/') return response.end(page);
    try {
        response.end(readFileSync(join(here, /^\/\w+\.wasm$/.test(path) ? 'probed' : '', path)));
    } catch {
        response.writeHead(404).end();
    }
});
server.listen(Number(process.argv[2] ?? 8080), '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/`));
