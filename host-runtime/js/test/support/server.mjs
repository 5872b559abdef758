// Serves a page and what it needs, with the headers of a cross-origin isolated page or without, and takes what it posts.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { PACKAGE } from './cli.mjs';

const TYPES = { '.js': 'text/javascript', '.mjs': 'text/javascript', '.wasm': 'application/wasm', '.html': 'text/html' };
const WASI = 'node_modules/@bjorn3/browser_wasi_shim/dist';

/** `files`: path to content. `/dist/` and `/wasi/` are the package's and a WASI for pages. */
export async function serve(files, { isolated, fail = 0 } = {}) {
    const posts = [];
    const server = createServer(async (request, response) => {
        const { pathname } = new URL(request.url, 'http://here');
        if (isolated) {
            response.setHeader('cross-origin-opener-policy', 'same-origin');
            response.setHeader('cross-origin-embedder-policy', 'require-corp');
        }
        if (request.method === 'POST') {
            const parts = [];
            for await (const part of request) parts.push(part);
            if (fail-- > 0) return response.writeHead(503).end();
            const body = Buffer.concat(parts);
            const isPacked = request.headers['content-encoding'] === 'gzip';
            posts.push({ trace: request.headers['kperf-trace'], part: Number(request.headers['kperf-part']), body: isPacked ? gunzipSync(body) : body });
            return response.end();
        }
        response.setHeader('content-type', TYPES[extname(pathname)] ?? 'text/html');
        const [, top, ...rest] = pathname.split('/');
        try {
            if (pathname === '/favicon.ico') response.writeHead(204).end();
            else if (pathname in files) response.end(files[pathname]);
            else if (top === 'dist') response.end(readFileSync(join(PACKAGE, pathname)));
            else if (top === 'wasi') response.end(readFileSync(join(PACKAGE, WASI, ...rest)));
            else response.writeHead(404).end();
        } catch {
            response.writeHead(404).end();
        }
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    return {
        url: `http://127.0.0.1:${server.address().port}/`,
        /** What was posted of a trace, or of the only one, in the order of its parts. */
        trace: (id = posts[0].trace) => Buffer.concat(posts.filter(({ trace }) => trace === id).sort((a, b) => a.part - b.part).map(({ body }) => body)),
        posts,
        close: () => {
            server.closeAllConnections();
            return new Promise((resolve) => server.close(resolve));
        },
    };
}
