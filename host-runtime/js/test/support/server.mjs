// Serves test pages, isolated or not, and takes their posts.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { PACKAGE } from './cli.mjs';

const TYPES = {
    '.js': 'text/javascript', '.mjs': 'text/javascript', '.wasm': 'application/wasm', '.html': 'text/html',
};
const WASI = 'node_modules/@bjorn3/browser_wasi_shim/dist';

/**
 * `files`: path to content. `/dist/` and `/wasi/` are the package's and a WASI for pages, `/packages/` a folder's. The first posts may fail,
 * or never get there.
 */
export async function serve(files, { isolated, fail = 0, lose = 0, packages } = {}) {
    const posts = [];
    const server = createServer(async (request, response) => {
        const { pathname } = new URL(request.url, 'http://here');
        if (isolated) {
            response.setHeader('cross-origin-opener-policy', 'same-origin');
            response.setHeader('cross-origin-embedder-policy', 'require-corp');
        }
        if (request.method === 'POST') {
            let body;
            try {
                body = Buffer.concat(await request.toArray());
            } catch {
                // The page was closed.
                return;
            }
            if (lose-- > 0) return;
            if (fail-- > 0) return response.writeHead(503).end();
            const { 'kperf-trace': trace, 'kperf-part': part, 'kperf-last': last, 'content-encoding': encoding } =
                request.headers;
            posts.push({
                trace, part: Number(part), isLast: last !== undefined,
                body: encoding === 'gzip' ? gunzipSync(body) : body,
            });
            return response.end();
        }
        response.setHeader('content-type', TYPES[extname(pathname)] ?? 'text/html');
        const [, top, ...rest] = pathname.split('/');
        try {
            if (pathname === '/favicon.ico') response.writeHead(204).end();
            else if (pathname in files) response.end(files[pathname]);
            else if (top === 'dist') response.end(readFileSync(join(PACKAGE, pathname)));
            else if (top === 'packages' && packages) response.end(readFileSync(join(packages, ...rest)));
            else if (top === 'wasi') response.end(readFileSync(join(PACKAGE, WASI, ...rest)));
            else response.writeHead(404).end();
        } catch {
            response.writeHead(404).end();
        }
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    // A failed test leaves it running.
    server.unref();
    /** The parts of a trace, each once, in their order. */
    const partsOf = (id) => [
        ...new Map(posts.filter(({ trace }) => trace === id).map((post) => [post.part, post])).values(),
    ].sort((a, b) => a.part - b.part);
    const isWhole = (id) => {
        const parts = partsOf(id);
        return parts.at(-1).isLast && parts.length === parts.at(-1).part + 1;
    };
    return {
        url: `http://127.0.0.1:${server.address().port}/`,
        /** The posted parts of a trace, or of the only one, in order. */
        trace: (id = posts[0].trace) => Buffer.concat(partsOf(id).map(({ body }) => body)),
        posts,
        /** Waits for this number of complete traces. */
        async whole(count) {
            for (let n = 0; [...new Set(posts.map(({ trace }) => trace))].filter(isWhole).length < count; n++) {
                if (n > 600) {
                    throw new Error(
                        `of ${count} traces some parts never came: ${posts.map(({ trace, part, isLast }) => `${trace} ${part} ${isLast}`)}`,
                    );
                }
                await new Promise((resolve) => setTimeout(resolve, 50));
            }
        },
        close: () => {
            server.closeAllConnections();
            return new Promise((resolve) => server.close(resolve));
        },
    };
}
