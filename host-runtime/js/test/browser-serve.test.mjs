// `npx kperf-wasm serve` and web apps as they were published: they work as before, and traces have their functions.
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { join } from 'node:path';
import { after, test } from 'node:test';
import wabt from 'wabt';
import { get, listening, postPart } from './support/asking.mjs';
import { launch, open } from './support/chromium.mjs';
import { folder, PACKAGE, ROOT } from './support/cli.mjs';
import { collectorProgram, startCollector } from './support/collector.mjs';
import { inWorker, page } from './support/pages.mjs';
import { start as starter } from './support/serve.mjs';
import { serve as plain } from './support/server.mjs';

/** Browsers ask for an icon otherwise. */
const ICON = '<link rel="icon" href="data:,">';
const work = folder();
const start = (...args) => starter(work, ...args);
const browser = await launch();
after(() => browser.close());

/** SQLite of npm's sql.js, in a page and in that package's worker. */
const app = join(work, 'app');
mkdirSync(app);
const dist = join(PACKAGE, 'node_modules/sql.js/dist');
for (const name of ['sql-wasm.js', 'sql-wasm.wasm', 'worker.sql-wasm.js']) cpSync(join(dist, name), join(app, name));
writeFileSync(join(app, 'index.html'), `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>SQL</title>${ICON}<script src="sql-wasm.js"></script></head>
<body><script>
    const QUERY = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 100) " +
        "SELECT sum(x), group_concat(x % 7) FROM n";
    async function here() {
        const SQL = await initSqlJs();
        const database = new SQL.Database();
        database.run('CREATE TABLE t (a, b)');
        for (let n = 0; n < 20; n++) database.run('INSERT INTO t VALUES (?, ?)', [n, 'text ' + n]);
        return [database.exec(QUERY)[0].values, database.exec('SELECT count(*), max(b) FROM t')[0].values];
    }
    async function inWorker() {
        const worker = new Worker('worker.sql-wasm.js');
        const ask = (message) => new Promise((resolve, reject) => {
            worker.onmessage = ({ data }) => resolve(data);
            worker.onerror = reject;
            worker.postMessage(message);
        });
        await ask({ id: 1, action: 'open' });
        return (await ask({ id: 2, action: 'exec', sql: QUERY })).results[0].values;
    }
    globalThis.result = (async () => {
        return { here: await here(), worker: await inWorker(), isolated: crossOriginIsolated };
    })();
</script></body></html>`);

test('a published app works as before, and page and worker are recorded', async () => {
    const files = Object.fromEntries(readdirSync(app).map((name) => [`/${name}`, readFileSync(join(app, name))]));
    const before = await plain({ ...files, '/': files['/index.html'] });
    const { result: expected } = await open(browser, before.url);
    await before.close();
    const server = await start(app);
    const { page, result } = await open(browser, server.url);
    assert.deepEqual(result, { ...expected, isolated: true });
    await server.untilReported(([{ calls }]) => calls > 10_000);
    await page.close({ runBeforeUnload: true });
    await server.until(/^# trace: /m);
    const { status, stdout, stderr, reports } = await server.end();
    assert.equal(status, 0, stderr);
    // Both load one module, which is rewritten once.
    assert.equal(stderr.match(/^sql-wasm: \d+ of \d+ functions probed \(inline\)/gm).length, 1, stderr);
    const named = reports.map(({ calls, functions, host, outcome }) => {
        return [calls > 10_000, functions.length > 200, new Set(functions.map(({ name }) => name)).size, host.name, outcome];
    });
    // Functions of both are the same.
    assert.deepEqual(named, [[true, true, reports[0].functions.length, 'chromium', 'page closed']]);
    assert.deepEqual(stdout.match(/^# (page|trace):/gm), ['# page:', '# trace:']);
});

/** A folder with pages, and what they need to run the Game of Life. */
function lifeApp(name, files) {
    const path = join(work, name);
    mkdirSync(path);
    for (const [file, text] of Object.entries(files)) {
        writeFileSync(join(path, file === '/' ? 'index.html' : file), text);
    }
    cpSync(join(ROOT, 'examples/game-of-life/rust/life.wasm'), join(path, 'life.wasm'));
    cpSync(join(PACKAGE, 'node_modules/@bjorn3/browser_wasi_shim/dist'), join(path, 'wasi'), { recursive: true });
    return path;
}

for (const [where, files] of Object.entries({
    page: { '/': page('globalThis.result = life(50);', ICON) },
    worker: inWorker('globalThis.result = life(50);', ICON),
})) {
    test(`all calls of a ${where} arrive if the page is closed right after its work`, async () => {
        const server = await start(lifeApp(where, files));
        const { page: opened } = await open(browser, server.url);
        await opened.close({ runBeforeUnload: true });
        await server.until(/^# trace: /m);
        const { stderr, reports } = await server.end();
        // 800 KB, more than browsers guarantee to send.
        const { calls } = reports[0].functions.find(({ name }) => name === 'life::is_valid_position');
        assert.deepEqual([reports[0].outcome, calls], ['page closed', 160_000], stderr);
    });
}

const skip = collectorProgram() === undefined;

test('pages of another development server are recorded, and their spans go to a Collector', { skip }, async () => {
    const collector = await startCollector(work);
    const life = readFileSync(join(ROOT, 'examples/game-of-life/rust/life.wasm'));
    const behind = await plain({ '/': page('globalThis.result = life(5);'), '/life.wasm': life });
    const server = await start('--proxy', behind.url, `--otlp=${collector.endpoint}`, '--clock', 'precise');
    const { page: opened, result } = await open(browser, server.url);
    assert.equal(result, '5 steps, 19 live cells');
    await opened.close({ runBeforeUnload: true });
    await server.until(/^# trace: /m);
    const { stderr, reports } = await server.end();
    await behind.close();
    const calls = Object.fromEntries(reports[0].functions.map(({ name, calls }) => [name, calls]));
    assert.equal(calls['life::is_valid_position'], 16_000);
    assert.equal((await collector.spans()).length, reports[0].calls, stderr);
});

test('a policy of the page does not keep the recorder out of it and its workers', async () => {
    const { parseWat } = await wabt();
    const calls = parseWat('calls.wat', readFileSync('test/programs/calls.wat', 'utf8')).toBinary({}).buffer;
    const use = `WebAssembly.instantiateStreaming(fetch('/calls.wasm'), { host: { call() {} } })
        .then(({ instance }) => instance.exports.leaf())`;
    const worker = "new Promise((resolve) => (new Worker('/worker.js').onmessage = resolve))";
    const policy = "default-src 'self' 'wasm-unsafe-eval'; img-src data:";
    const behind = createServer((request, response) => {
        const [type, text] = {
            '/': ['text/html', `<!doctype html>${ICON}<script type="module" src="/main.js"></script>`],
            '/main.js': ['text/javascript', `globalThis.result = Promise.all([${use}, ${worker}]).then(() => 'done');`],
            '/worker.js': ['text/javascript', `${use}.then(() => postMessage('done'));`],
            '/calls.wasm': ['application/wasm', calls],
        }[request.url];
        response.writeHead(200, { 'content-type': type, 'content-security-policy': policy }).end(text);
    });
    const server = await start('--proxy', await listening(behind));
    const { page, result } = await open(browser, server.url);
    assert.equal(result, 'done');
    await server.untilReported((reports) => reports.reduce((sum, { calls }) => sum + calls, 0) === 2);
    await page.close();
    behind.closeAllConnections();
    behind.close();
    await server.end();
});

test('the recorder is inside where that pays', async () => {
    const { parseWat } = await wabt();
    const wasm = (text) => Buffer.from(parseWat('m.wat', text, { threads: true }).toBinary({}).buffer);
    const files = {
        plain: wasm('(module (func (export "f")))'),
        starts: wasm('(module (func $f) (start $f))'),
        linked: Buffer.concat([
            wasm('(module (func (export "f")))'), Buffer.from([0, 9, 8, ...Buffer.from('dylink.0')]),
        ]),
    };
    const forms = async (...options) => {
        const server = await start(work, ...options);
        const found = [];
        for (const form of ['any', 'import', 'alone']) {
            for (const [name, body] of Object.entries(files)) {
                const address = `${server.url}.kperf/probe?name=${name}&id_base=5&form=${form}`;
                const answer = await fetch(address, { method: 'POST', headers: { 'kperf-probe': '1' }, body });
                const bytes = Buffer.from(await answer.arrayBuffer());
                // Modules that are loaded beside others are refused a recorder inside, whoever asks for one.
                const isRefused = options.includes('inline') && (name === 'linked' || form === 'import');
                const expected = isRefused || (form === 'import' && options.includes('import')) ? 422 : 200;
                assert.equal(answer.status, expected, bytes.toString());
                if (bytes.includes('kperf:host')) found.push(form === 'any' ? name : `${name} ${form}`);
            }
        }
        await server.end();
        return found;
    };
    assert.deepEqual(await forms(), ['plain']);
    assert.deepEqual(await forms('--clock', 'precise'), []);
    assert.deepEqual(await forms('--no-isolation'), []);
    assert.deepEqual(await forms('--probe', 'import'), []);
    assert.deepEqual(await forms('--probe', 'inline'), ['plain', 'starts', 'plain alone', 'starts alone']);
});

test('a profile of a published app', async () => {
    const server = await start(app, '--record', 'profile', '--span-min', '2ms');
    const { page, result } = await open(browser, server.url);
    assert.equal(result.isolated, true);
    await server.untilReported(([{ calls }]) => calls > 10_000);
    await page.close({ runBeforeUnload: true });
    await server.until(/^# trace: /m);
    const { status, stdout, stderr, reports } = await server.end();
    assert.equal(status, 0, stderr);
    assert.match(stdout, /one in [\d.]+ [mu]?s: counts of functions are exact; times/);
    assert.deepEqual(reports.map(({ outcome }) => outcome), ['page closed']);
});

test('connections that become something else get through', async () => {
    const behind = createServer().on('upgrade', (_request, socket) => {
        socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n');
        socket.pipe(socket);
    });
    const server = await start('--proxy', await listening(behind));
    const answer = await new Promise((resolve, reject) => {
        const asked = request(server.url, { headers: { connection: 'upgrade', upgrade: 'echo' } });
        asked.on('upgrade', (_response, socket) => {
            socket.on('data', (data) => {
                resolve(String(data));
                socket.destroy();
            });
            socket.write('hello');
        });
        asked.on('error', reject).end();
    });
    assert.equal(answer, 'hello');
    behind.closeAllConnections();
    behind.close();
    await server.end().catch(() => undefined);
});

test('names that are not of this machine are not answered to, and only parts of traces are taken', async () => {
    const server = await start(app);
    const status = async (...request) => (await get(server, ...request)).status;
    assert.equal(await status('/', { host: 'evil.example' }), 421);
    assert.equal(await status('/', { host: 'localhost:1' }), 200);
    assert.equal(await status('/.kperf/trace', {}, 'POST'), 400);
    assert.equal((await postPart(server, '../../x', 0)).status, 400);
    assert.equal(await status('/.kperf/probe?id_base=0', {}, 'POST'), 400);
    assert.equal(await status('/missing'), 404);
    await server.end().catch(() => undefined);
});
