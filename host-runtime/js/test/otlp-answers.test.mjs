// What `register` does with the answers of Collectors, good and bad.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { assembleFib, FIB, REGISTER, work } from './support/program.mjs';

assembleFib();
/** The calls of fib(10). */
const CALLS = 177;
const PROGRAM = `
    import { readFileSync } from 'node:fs';
    const { instance } = await WebAssembly.instantiate(readFileSync(${JSON.stringify(FIB)}));
    instance.exports.fib(10);
`;

/** Runs the program with a server that answers its requests. Returns its lines and its exit code. */
async function sent(answer, env = {}) {
    const server = createServer(async (request, response) => {
        const parts = [];
        for await (const part of request) parts.push(part);
        const body = Buffer.concat(parts);
        answer(response, request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const cwd = mkdtempSync(join(work, 'run-'));
    writeFileSync(join(cwd, 'app.mjs'), PROGRAM);
    const OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${server.address().port}`;
    const child = spawn(process.execPath, ['--no-warnings', '--import', REGISTER, 'app.mjs'], {
        cwd, stdio: ['ignore', 'inherit', 'pipe'], env: { ...process.env, KPERF_SPAN_RATE: 'all', OTEL_EXPORTER_OTLP_ENDPOINT, ...env },
    });
    let stderr = '';
    child.stderr.on('data', (text) => (stderr += text));
    const [code] = await once(child, 'close');
    server.closeAllConnections();
    server.close();
    assert.equal(code, 0, stderr);
    return stderr;
}

test('an endless answer is not read', async () => {
    let bytes = 0;
    const piece = Buffer.alloc(1 << 16, ' ');
    const stderr = await sent((response) => {
        response.writeHead(200, { 'content-type': 'text/html' });
        const write = () => {
            while (!response.destroyed && bytes < 2 ** 28) {
                bytes += piece.length;
                if (!response.write(piece)) return response.once('drain', write);
            }
            response.end();
        };
        write();
    });
    assert.match(stderr, new RegExp(`${CALLS} of ${CALLS} spans were not delivered .*: its response is not an OTLP message`));
    // The buffers of sockets, too.
    assert.equal(bytes < 2 ** 26, true, `${bytes}`);
});
