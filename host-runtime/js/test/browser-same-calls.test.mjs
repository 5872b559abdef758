// One program on three hosts: equal functions, callers and call counts.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { launch, open } from './support/chromium.mjs';
import { folder, hasMultiMemory, kperf, PACKAGE, PROBE, probed, ROOT } from './support/cli.mjs';
import { page } from './support/pages.mjs';
import { serve } from './support/server.mjs';

const work = folder();
const browser = await launch();
after(() => browser.close());
const STEPS = '20';

/**
 * wasmtime writes the first of several buffers, and C's library calls it again for the next: these depend on the host.
 */
const HOSTS_OWN = ['__wasi_fd_write', 'writev'];

/** A report's functions without their times. */
function table(trace) {
    const { functions } = JSON.parse(kperf('report', trace, '--format', 'json', '--limit', '0'));
    const callers = (f) => f.callers.map(({ name, calls }) => `${name} ${calls}`).sort();
    return functions
        .filter(({ name }) => !HOSTS_OWN.includes(name))
        .map((f) => ({ id: f.id, name: f.name, calls: f.calls, callers: callers(f) }))
        .sort((a, b) => a.id - b.id);
}

function inNode(node, wasm, trace) {
    const program = join(work, 'program.mjs');
    writeFileSync(program, `
        import { readFileSync } from 'node:fs';
        import { WASI } from 'node:wasi';
        const wasi = new WASI({ version: 'preview1', args: ['life', '${STEPS}'], returnOnExit: true });
        const { instance } = await WebAssembly.instantiate(readFileSync(${JSON.stringify(wasm)}), wasi.getImportObject());
        wasi.start(instance);`);
    const register = pathToFileURL(join(PACKAGE, 'dist/node/register.js')).href;
    const env = { ...process.env, KPERF_TRACE: trace };
    const { status, stdout, stderr } =
        spawnSync(node, ['--no-warnings', '--import', register, program], { env, encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    return stdout.trim();
}

async function inChromium(wasm, trace) {
    const script = `globalThis.result = life(${STEPS}).then(async (text) => {
        await kperf.finish();
        return { text, trace: await encoded(kperf.blob()) };
    });`;
    const server = await serve(
        { '/': page(script, '<script src="/dist/kperf.js"></script>'), '/life.wasm': wasm }, { isolated: true },
    );
    const { result } = await open(browser, server.url);
    await server.close();
    writeFileSync(trace, Buffer.from(result.trace));
    return result.text;
}

for (const [language, hasGc] of [['rust', false], ['c', false], ['kotlin', true]]) {
    test(language, async () => {
        const wasm = join(work, `${language}.wasm`);
        const bytes = probed(join(ROOT, `examples/game-of-life/${language}/life.wasm`), wasm);
        const trace = (host) => join(work, `${language}.${host}.kperf`);
        kperf('run', wasm, '--trace', trace('wasmtime'), '--', STEPS);
        const expected = table(trace('wasmtime'));
        assert.equal(expected.find(({ name }) => /(^|[:.])(step)$/.test(name)).calls, Number(STEPS));
        const current = join(PACKAGE, 'node_modules/node-current/bin/node');
        // Node 20 has no exnref, no final GC and no multi-memory.
        for (const node of hasGc || (PROBE === 'inline' && !hasMultiMemory) ? [current] : [process.execPath, current]) {
            assert.match(inNode(node, wasm, trace('node')), /^20 steps, \d+ live cells$/);
            assert.deepEqual(table(trace('node')), expected);
        }
        assert.match(await inChromium(bytes, trace('chromium')), /^20 steps, \d+ live cells$/);
        assert.deepEqual(table(trace('chromium')), expected);
    });
}
