// Servers of traces on a system without room for a file.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { folder, PACKAGE } from './support/cli.mjs';

/** The maximum size of a file, until the limit is raised. */
const ROOM = 8 << 10;

/** Starts a server under limits, and waits for its URL. */
async function start(t, cwd, limits, command) {
    const args = ['-c', `${limits}; exec "$@"`, 'bash', ...command];
    const child = spawn('bash', args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    t.after(() => child.kill('SIGKILL'));
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += text));
    for (let n = 0; n < 600 && !/http:\S+/.test(said); n++) await new Promise((resolve) => setTimeout(resolve, 50));
    const [url] = /http:\/\/[^\s/]+/.exec(said) ?? assert.fail(said);
    return { child, url };
}

/** A part without room is posted again, and is in the file once when there is room. */
async function recovers(t, cwd, command, address) {
    const { child, url } = await start(t, cwd, `trap '' XFSZ; ulimit -Sf ${ROOM >> 10}`, command);
    const parts = [randomBytes(100), randomBytes(3 * ROOM), randomBytes(100)];
    const post = async (number) => {
        const headers = { 'kperf-trace': '0'.repeat(32), 'kperf-part': String(number) };
        return (await fetch(url + address, { method: 'POST', headers, body: parts[number] })).status;
    };
    assert.equal(await post(0), 200);
    for (let n = 0; n < 3; n++) assert.equal(await post(1), 507);
    const file = () => readFileSync(join(cwd, readdirSync(cwd).find((name) => name.endsWith('.kperf'))));
    const allowed = spawnSync('prlimit', ['--pid', String(child.pid), '--fsize=unlimited'], { encoding: 'utf8' });
    assert.equal(allowed.stderr, '');
    assert.deepEqual([await post(1), await post(1), await post(2)], [200, 200, 200]);
    assert.deepEqual(file(), Buffer.concat(parts));
}

/** `serve` with traces in the folder that it serves. */
const served = (cwd) => {
    const cli = join(PACKAGE, 'dist/node/cli/main.js');
    return [process.execPath, cli, 'serve', cwd, '--listen', '127.0.0.1:0', '--traces', cwd];
};
const skip = process.platform !== 'linux' || spawnSync('prlimit', ['--version']).error !== undefined;

test('`serve` takes a part again when there is room', { skip }, async (t) => {
    const cwd = folder();
    await recovers(t, cwd, served(cwd), '/.kperf/trace');
});

test("so does Vite's development server", { skip }, async (t) => {
    const script = `
        import { createServer } from 'node:http';
        import { traces } from ${JSON.stringify(join(PACKAGE, 'dist/bundlers/traces.js'))};
        const server = createServer(traces(() => undefined)).listen(0, '127.0.0.1', () => {
            console.log('http://127.0.0.1:' + server.address().port);
        });`;
    await recovers(t, folder(), [process.execPath, '--input-type=module', '--eval', script], '/');
});
