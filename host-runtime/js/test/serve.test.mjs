// `npx kperf-wasm serve`, requested as by browsers and others.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createNetServer } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import wabt from 'wabt';
import { get, listening, postModule, postPart, raw } from './support/asking.mjs';
import { folder, PACKAGE, ROOT } from './support/cli.mjs';
import { start as starter } from './support/serve.mjs';

const work = folder();
const start = (...args) => starter(work, ...args);
const app = join(work, 'app');
for (const path of ['a b/.git', '.well-known', 'empty']) mkdirSync(join(app, path), { recursive: true });
const PAGE = '<!doctype html><html><head><title>x</title></head></html>';
for (const [name, text] of Object.entries({
    '../secret': 'x', 'a b/index.html': PAGE, '.env': 'PASSWORD=1', 'a b/.git/config': 'x', '.well-known/x': 'well',
    'app.js': '0123456789', 'a?b#c%.txt': 'odd', 'm.wasm': '\0asm',
})) writeFileSync(join(app, name), text);
const links = { link: '../secret', linkenv: '.env', ours: 'app.js' };
for (const [link, to] of Object.entries(links)) symlinkSync(to, join(app, link));

spawnSync('mkfifo', [join(app, 'pipe')]);

/** Runs `npx kperf-wasm`. */
const npx = (...args) => {
    const command = ['--no-warnings', join(PACKAGE, 'dist/node/cli/main.js'), ...args];
    return spawnSync(process.execPath, command, { encoding: 'utf8', timeout: 20_000 });
};
const life = join(ROOT, 'examples/game-of-life/rust/life.wasm');
const recorded = npx('run', life, '-q', '--trace', join(work, 'life.kperf'), '--', '3');
assert.equal(recorded.status, 0, recorded.stderr);

const asPage = { 'sec-fetch-dest': 'document' };

test('a folder is served as file servers do it, and nothing that is not for others', async () => {
    const server = await start(app);
    const script = await get(server, '/app.js');
    const { 'content-type': type, 'cache-control': cached } = script.headers;
    assert.deepEqual([script.status, script.text, type, cached], [200, '0123456789', 'text/javascript', 'no-cache']);
    assert.equal(script.headers['cross-origin-opener-policy'], 'same-origin');
    assert.equal((await get(server, '/m.wasm')).headers['content-type'], 'application/wasm');
    const there = { '/ours': '0123456789', '/.well-known/x': 'well', '/a%3Fb%23c%25.txt': 'odd', '/a%20b/': PAGE };
    for (const [path, text] of Object.entries(there)) assert.equal((await get(server, path)).text, text, path);
    for (const path of [
        '/../secret', '/%2e%2e/secret', '/a%20b/..%2f..%2fsecret', '/a%20b/..%5c..%5csecret', '/link', '/linkenv',
        '/%ff', '/%00', '/missing', '/.env', '/%2eenv', '/a%20b/.git/config', '/empty/', '/app.js/x', '/app.js/',
        '/app.js%2f', '/pipe', `/${'x'.repeat(5000)}`,
    ]) assert.equal((await get(server, path)).status, 404, path);
    assert.equal((await get(server, '/app.js', {}, 'POST')).status, 405);
    assert.equal((await get(server, '/app.js', {}, 'HEAD')).text, '');
    // Ranges, and conditional requests.
    const part = await get(server, '/app.js', { range: 'bytes=2-4' });
    assert.deepEqual([part.status, part.text, part.headers['content-range']], [206, '234', 'bytes 2-4/10']);
    assert.equal((await get(server, '/app.js', { range: 'bytes=2-4', 'if-range': '"other"' })).status, 200);
    assert.equal((await get(server, '/app.js', { range: 'bytes=20-' })).status, 416);
    assert.equal((await get(server, '/app.js', { 'if-none-match': script.headers.etag })).status, 304);
    const moved = await get(server, '/a%20b?q=1');
    assert.deepEqual([moved.status, moved.headers.location], [307, '/a%20b/?q=1']);
    // Two slashes would name another server.
    assert.equal((await get(server, '//a%20b?q=1')).headers.location, '/a%20b/?q=1');
    assert.equal((await server.end()).status, 0);
});

test('service workers and shared workers are named once, since they run unrecorded', async () => {
    const server = await start(app);
    for (const [path, headers] of [
        ['/app.js', { 'sec-fetch-dest': 'worker' }], ['/ours', { 'sec-fetch-dest': 'sharedworker' }],
        ['/app.js', { 'sec-fetch-dest': 'serviceworker' }], ['/m.wasm', { 'service-worker': 'script' }],
        ['/app.js', { 'sec-fetch-dest': 'serviceworker' }], ['/missing.js', { 'sec-fetch-dest': 'serviceworker' }],
    ]) await get(server, path, headers);
    const { stderr } = await server.end();
    assert.deepEqual(stderr.split('\n').filter((line) => line.includes('unrecorded')), [
        '/ours: a shared worker, which runs unrecorded', '/app.js: a service worker, which runs unrecorded',
        '/m.wasm: a service worker, which runs unrecorded',
    ]);
});

test('only what is to be shown gets the recorder', async () => {
    const server = await start(app, '--clock', 'ticker:2us');
    const conditions = { 'accept-encoding': 'gzip', 'if-none-match': '*', range: 'bytes=1-2' };
    const { text, headers } = await get(server, '/a%20b/', { ...asPage, ...conditions });
    const settings = 'data-post="/.kperf/trace" data-probe="auto" data-server="/.kperf/probe" data-clock="ticker:2us"';
    const tag = `<script src="/.kperf/kperf.js" ${settings}></script>`;
    assert.equal(text, PAGE.replace('<head>', `<head>${tag}`));
    const { 'cache-control': cached, 'content-length': length, etag } = headers;
    assert.deepEqual([cached, length, etag], ['no-store', undefined, undefined]);
    assert.equal((await get(server, '/a%20b/', { 'sec-fetch-dest': 'empty', accept: 'text/html' })).text, PAGE);
    assert.match((await get(server, '/.kperf/kperf.js')).text, /kperf/);
    const worker = (to, module = '') => get(server, `/.kperf/worker.js?${module}to=${encodeURIComponent(to)}`);
    for (const to of ['//evil.example/x', 'x', '/.kperf/kperf.js', '']) {
        assert.equal((await worker(to)).status, 400, to);
    }
    assert.equal((await worker('/missing.js')).status, 404);
    assert.equal((await worker('/app.js', 'module&')).text, 'import "/.kperf/kperf.js";\nimport "/app.js";\n');
    const classic = await worker('/app.js?a="b');
    assert.equal(classic.text, 'importScripts("/.kperf/kperf.js");\nimportScripts("/app.js?a=\\"b");\n');
    await server.end();
});

test('pages of another server come through whatever their size and speed, and its failures are reported', async () => {
    const rest = 'y'.repeat(3 << 20);
    const type = { 'content-type': 'text/html' };
    const paths = {
        '/cut': (_, response) => {
            response.writeHead(200, { ...type, 'content-length': 1000 }).write('<html>', () => response.destroy());
        },
        '/cut-later': (_, response) => {
            response.writeHead(200, type).write(`<html><head>${rest}`, () => response.destroy());
        },
        '/moved': ({ headers }, response) => {
            response.writeHead(302, { location: `http://${headers.host}/there` }).end();
        },
        '/headers': ({ headers }, response) => response.end(JSON.stringify(headers)),
        '/worker;1.js?c': (_, response) => {
            response.writeHead(200, { 'content-security-policy': "default-src 'none'", 'set-cookie': 'a=b' }).end();
        },
        '/': (_, response) => {
            response.writeHead(200, type);
            // The tag's place is known when the last byte of the head is there.
            const page = `<!doctype html><html><head>${rest}`;
            for (const letter of page.slice(0, 30)) response.write(letter);
            setTimeout(() => response.end(page.slice(30)), 20);
        },
    };
    const behind = createServer((asked, response) => paths[asked.url](asked, response));
    const address = await listening(behind);
    const server = await start('--proxy', address);
    const { text } = await get(server, '/', asPage);
    assert.equal(text.replace(/<script.*?<\/script>/, ''), `<!doctype html><html><head>${rest}`);
    assert.equal((await get(server, '/cut', asPage)).status, 502);
    await assert.rejects(get(server, '/cut-later', asPage));
    assert.equal((await get(server, '/moved')).headers.location, '/there');
    // A worker keeps its own policy, extended for the recorder and its script.
    const { headers } = await get(server, '/.kperf/worker.js?to=/worker;1.js%3Fc');
    const own = server.url.replace(/\/$/, '');
    const room = `${new URL(own).host}/.kperf/ ${new URL(own).host}/worker%3B1.js`;
    assert.deepEqual([headers['content-security-policy'], headers['set-cookie']], [
        `default-src 'none'; script-src ${room} blob:; worker-src ${room} blob:; connect-src ${room}`, undefined,
    ]);
    const passed = async (headers) => JSON.parse((await get(server, '/headers', headers)).text);
    const ours = await passed({ origin: own, referer: `${own}/a?b=${own}`, 'keep-alive': '5', te: 'x' });
    const expected = [new URL(address).host, address, `${address}/a?b=${own}`, undefined, undefined];
    assert.deepEqual([ours.host, ours.origin, ours.referer, ours['keep-alive'], ours.te], expected);
    for (const origin of [`${own}.evil.example`, `${own}1`, 'https://evil.example', 'null']) {
        assert.equal((await passed({ origin })).origin, origin);
    }
    behind.closeAllConnections();
    behind.close();
    const { status, text: why } = await get(server, '/', asPage);
    assert.equal(status, 502);
    assert.match(why, /doesn't answer/);
    assert.equal((await server.end()).status, 0);
});

test('whatever the other server says and the browser asks, it goes on', async () => {
    const asked = [];
    let closed = 0;
    const ANSWERS = {
        trailer: 'HTTP/1.1 200 OK\r\ntrailer: x\r\ncontent-length: 2\r\n\r\nok',
        status: 'HTTP/1.1 099 Odd\r\ncontent-length: 2\r\n\r\nok',
        phrase: 'HTTP/1.1 200 O\x01K\r\ncontent-length: 2\r\n\r\nok',
        refused: 'HTTP/1.1 401 No\r\nwww-authenticate: Basic\r\nset-cookie: a=b\r\ncontent-length: 2\r\n\r\nno',
        elsewhere: 'HTTP/1.1 302 Found\r\nlocation: http://HOST//evil.example/\r\ncontent-length: 0\r\n\r\n',
    };
    const behind = createNetServer((socket) => {
        socket.on('error', () => undefined).on('close', () => closed++);
        socket.on('data', (bytes) => {
            const text = bytes.toString('latin1');
            asked.push(text);
            const answer = ANSWERS[/^\S+ \/(\w*)/.exec(text)?.[1]];
            const length = text.startsWith('HEAD') ? answer.indexOf('\r\n\r\n') + 4 : undefined;
            if (answer) socket.end(answer.slice(0, length).replace('HOST', new URL(address).host), 'latin1');
        });
    });
    const address = await listening(behind);
    const server = await start('--proxy', address);
    for (const [method, expected] of [['GET', 'ok'], ['HEAD', '']]) {
        const { status, text } = await get(server, '/trailer', {}, method);
        assert.deepEqual([status, text], [200, expected], method);
    }
    for (const path of ['/status', '/phrase']) assert.equal((await get(server, path)).status, 502, path);
    // A body that a method mustn't have gets an end, so it is no second request.
    const smuggled = ['23', 'GET /SMUGGLED HTTP/1.1', 'host: x', '', '', '0', '', ''];
    await raw(server, 'DELETE /a HTTP/1.1', 'host: localhost', 'transfer-encoding: chunked', '', ...smuggled);
    assert.match(asked.join(''), /DELETE \/a HTTP[^]*transfer-encoding: chunked/i);
    // One that wants another protocol gets the whole answer if the site doesn't.
    const upgrade = ['host: localhost', 'connection: upgrade', 'upgrade: websocket', '', ''];
    const refused = await raw(server, 'GET /refused HTTP/1.1', ...upgrade);
    assert.match(refused, /^HTTP\/1.1 401 No[^]*www-authenticate: Basic[^]*set-cookie: a=b[^]*\r\n\r\nno$/i);
    assert.match(await raw(server, 'GET /.kperf/kperf.js HTTP/1.1', ...upgrade), /^HTTP\/1.1 200 OK/);
    assert.equal((await get(server, '/elsewhere')).headers.location, `${address}//evil.example/`);
    const close = ['host: localhost', 'connection: close', '', ''];
    const absolute = await raw(server, 'GET http://localhost/.kperf/kperf.js HTTP/1.1', ...close);
    assert.match(absolute, /^HTTP\/1.1 200 OK/);
    // When a browser disconnects, so does the server.
    const before = closed;
    await raw(server, 'GET /never HTTP/1.1', 'host: localhost', '', '');
    await raw(server, 'GET /trailer HTTP/1.1', ...close);
    for (let n = 0; n < 100 && closed < before + 2; n++) await new Promise((resolve) => setTimeout(resolve, 20));
    assert.ok(closed >= before + 2, `${closed - before} connections were closed`);
    behind.close();
    assert.equal((await server.end()).status, 0);
});

test('too large requests, and posts that are not traces, are reported', async () => {
    const server = await start(app, '--otlp=http://127.0.0.1:9');
    assert.equal((await postModule(server, Buffer.alloc(260 << 20))).status, 413);
    assert.equal((await postPart(server, 'b'.repeat(32), 0, 'this is no trace', { last: true })).status, 200);
    assert.equal((await get(server, '/app.js')).status, 200);
    const { status: ended, stderr } = await server.end();
    assert.equal(ended, 0);
    assert.match(stderr, /it has more than 256 MiB/);
    assert.match(stderr, /error: .*not a kperf trace/);
});

test('it goes on when nobody reads what it prints', async () => {
    const flags = ['--listen', '127.0.0.1:0', '--traces', join(work, 'unread')];
    const args = ['--no-warnings', join(PACKAGE, 'dist/node/cli/main.js'), 'serve', app, ...flags];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    after(() => child.kill('SIGKILL'));
    const text = await new Promise((resolve) => child.stderr.once('data', (data) => resolve(String(data))));
    const server = { url: /^http:\S+/.exec(text)[0] };
    child.stdout.destroy();
    child.stderr.destroy();
    const bytes = readFileSync(join(work, 'life.kperf'));
    for (const id of ['c', 'd']) {
        assert.equal((await postPart(server, id.repeat(32), 0, bytes, { last: true })).status, 200);
    }
    assert.equal((await get(server, '/app.js')).status, 200);
    const ended = new Promise((resolve) => child.on('exit', resolve));
    child.kill('SIGTERM');
    assert.equal(await ended, 0);
});

test('parts of traces make a file, in any order, and nothing else does', async () => {
    const bytes = readFileSync(join(work, 'life.kperf'));
    const server = await start(app);
    const post = async (...part) => (await postPart(server, ...part)).status;
    const [first, second, third] = [bytes.subarray(0, 100), bytes.subarray(100, 5000), bytes.subarray(5000)];
    const id = '0123456789abcdef0123456789abcdef';
    assert.equal(await post(id, 2, gzipSync(third), { gzip: true, last: true }), 200);
    assert.equal(await post(id, 1, second), 200);
    assert.equal(await post(id, 0, first), 200);
    // A part that comes twice changes nothing.
    assert.equal(await post(id, 0, first), 200);
    await server.until(/^# trace: /m);
    assert.equal(await post(id, -1, first), 400);
    assert.equal(await post('short', 0, first), 400);
    const [another, early] = ['f', 'e'].map((digit) => id.replaceAll('0', digit));
    assert.equal(await post(another, 0, Buffer.from('no gzip'), { gzip: true }), 400);
    const [most, more] = [0, 1].map((extra) => gzipSync(Buffer.alloc((256 << 20) + extra)));
    assert.equal(await post(another, 0, more, { gzip: true }), 413);
    assert.equal(await post(early, 1, most, { gzip: true }), 200);
    for (let part = 2; part <= 64; part++) assert.equal(await post(early, part, third), 200);
    assert.equal(await post(early, 65, third), 507);
    const { stderr, stdout, status } = await server.end();
    assert.equal(status, 0, stderr);
    assert.match(stdout, /life::is_valid_position/);
    assert.match(stderr, /app-2\.kperf: its first part is missing/);
    assert.deepEqual(readFileSync(join(server.traces, 'app-1.kperf')), bytes);
});

test('a trace that lacks a part is reported when its last part has come', async () => {
    const bytes = readFileSync(join(work, 'life.kperf'));
    const server = await start(app);
    const post = (part, from, to, more) => postPart(server, 'd'.repeat(32), part, bytes.subarray(from, to), more);
    await post(0, 0, 5000);
    await post(2, 6000, undefined, { last: true, unsent: 1000 });
    await server.until(/^# trace: /m);
    assert.equal((await post(1, 5000, 6000)).status, 200);
    const { stderr } = await server.end();
    assert.match(stderr, /warning: .*app-1\.kperf: part 1 is missing; up to 1000 bytes were lost/);
});

test('an allocator with a name of its own is in one of several modules', async () => {
    const { parseWat } = await wabt();
    const flags = ['--allocations', '--allocator', 'malloc=take,free=give', '--allocator', 'calloc=zero'];
    const server = await start(app, ...flags);
    const take = '(memory 1) (func $take (param i32) (result i32) local.get 0)';
    for (const text of ['(func $other)', take, '(func $more)']) {
        const { buffer } = parseWat('m.wat', `(module ${text})`).toBinary({ write_debug_names: true });
        assert.equal((await postModule(server, Buffer.from(buffer))).status, 200);
    }
    const { stderr } = await server.end();
    const missing = [...stderr.matchAll(/^warning: --allocator (\S+): no module/gm)].map(([, name]) => name);
    assert.deepEqual(missing, ['free=give', 'calloc=zero']);
});

test('errors of the command line say what to use', () => {
    for (const [args, why] of [
        [[], 'name one folder, or give --proxy'],
        [[app, '--proxy', 'http://localhost:1'], 'name one folder, or give --proxy'],
        [[join(app, 'app.js')], 'is not a folder'],
        [[join(app, 'nowhere')], 'no such file'],
        [['--proxy', 'https://localhost'], 'is not an http URL'],
        [['--proxy', 'http://localhost:1/app'], 'has a path'],
        [[app, '--listen', 'localhost'], 'use an address and a port'],
        [[app, '--clock', '"><script>'], '--clock'],
        [[app, '--clock', 'instructions'], '--clock'],
        [[app, '--span-min', '1ms'], 'add --record profile'],
        [[app, '--record', 'profile', '--span-min', '"'], '--span-min'],
        [[app, '--record', 'profile', '--no-isolation'], 'remove --no-isolation'],
        [[app, '--leaf', 'count', '--record', 'profile'], 'remove --record profile'],
        [[app, '--allocations', '--record', 'profile'], '--allocations is for traces only: remove --record profile'],
        [[app, '--allocations=many'], '--allocations is `many`: use all, or a number of bytes'],
        [[app, '--allocator', 'malloc=take'], '--allocator names allocator functions: set --allocations, too'],
        [[app, '--allocations', '--allocator', 'take'], '--allocator has `take`, which is not `malloc=FUNCTION`'],
        [[app, '--allocations', '--allocator', 'mallok=take'], 'the allocator'],
        [[app, '--otlp=nothing'], '--otlp: `nothing` is not an http or https URL'],
        [[app, '--match', 'regex', '--only', '['], 'bad pattern `[`'],
        [[app, '--port', '3000'], "Unknown option '--port'; `kperf-wasm --help`"],
        [['--otlp', 'http://localhost:1', app], 'after `=`'],
        [[app, '--traces', join(app, 'app.js'), '--listen', '8.8.8.8:1'], 'failed to listen at 8.8.8.8:1'],
    ]) {
        const { status, stderr } = npx('serve', ...args);
        assert.ok(stderr.includes(why) && [1, 2].includes(status), `${args}: ${status} ${stderr}`);
    }
});

test('a trace without room is refused, so that the page posts it again', async () => {
    const server = await starter(join(work, 'secret'), app);
    const { status, text } = await postPart(server, 'a'.repeat(32), 0, 'x');
    assert.equal(status, 507);
    assert.match(text, /failed to create a trace in .*traces/);
    const { status: ended, stderr } = await server.end();
    assert.equal(ended, 0);
    assert.match(stderr, /error: .*failed to create a trace/);
});
