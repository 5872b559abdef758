// The clock `instructions`: equal counts of every function under wasmtime, in node, in Chromium and in Firefox.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { launch, open } from './support/chromium.mjs';
import { isHere, visit } from './support/firefox.mjs';
import { folder, hasMultiMemory, kperf, PACKAGE, probed, ROOT } from './support/cli.mjs';
import { effort } from './support/effort.mjs';
import { page } from './support/pages.mjs';
import { serve } from './support/server.mjs';

const work = folder();
const browser = await launch();
after(() => browser.close());
const STEPS = '20';
const register = pathToFileURL(join(PACKAGE, 'dist/node/register.js')).href;
// Node 20, if this is it, gives a module one memory, so its recorder stands beside the module.
const NODE = process.execPath;
const NODES = ['node-24', 'node-current'].map((name) => join(PACKAGE, `node_modules/${name}/bin/node`));

/** What depends on the host's answers: how many buffers it writes at a time, what kind of file stdout is. */
const OUTPUT = /isatty|writev?$|fd_write|stdio|vfprintf|printf|fwrite|std::io|once_lock|__towrite|__stdout/;

/** What Go's runtime does depends on clocks and random numbers, which only `run --deterministic` fixes. */
const GO_RUNTIME = /^(?!main\.)/;

/** What each function has executed itself, in all of its calls. */
function table(trace, hosts) {
    const { clock, functions } = JSON.parse(kperf('report', trace, '--format', 'json', '--limit', '0'));
    assert.deepEqual([clock.kind, clock.source], ['instructions', 'instructions']);
    const counted = functions.filter(({ name }) => !hosts.test(name));
    return Object.fromEntries(counted.map(({ name, calls, self_instructions }) => [name, [calls, self_instructions]]));
}

function inNode(node, wasm, trace) {
    const program = join(work, 'program.mjs');
    writeFileSync(program, `
        import { readFileSync } from 'node:fs';
        import { WASI } from 'node:wasi';
        const wasi = new WASI({ version: 'preview1', args: ['life', '${STEPS}'], returnOnExit: true });
        const { instance } = await WebAssembly.instantiate(readFileSync(${JSON.stringify(wasm)}), wasi.getImportObject());
        wasi.start(instance);`);
    const env = { ...process.env, KPERF_TRACE: trace, KPERF_CLOCK: 'instructions' };
    const { status, stderr } =
        spawnSync(node, ['--no-warnings', '--import', register, program], { env, encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    return stderr;
}

async function inChromium(wasm, trace, { isolated = true, attributes = '' } = {}) {
    const script = `globalThis.result = life(${STEPS}).then(async () => {
        await kperf.finish();
        return { trace: await encoded(kperf.blob()) };
    });`;
    const files = {
        '/': page(script, `<script src="/dist/kperf.js" data-clock="instructions"${attributes}></script>`),
        '/life.wasm': wasm,
    };
    const server = await serve(files, { isolated });
    const { result } = await open(browser, server.url);
    await server.close();
    writeFileSync(trace, Buffer.from(result.trace));
}

/** In Firefox, which nothing drives: the page posts its trace. */
async function inFirefox(wasm, trace) {
    const script = `life(${STEPS}).then(async () => {
        await kperf.finish();
        await fetch('/result', { method: 'POST', body: kperf.blob() });
    }).catch((error) => fetch('/result', { method: 'POST', body: String(error.stack) }));`;
    const files = {
        '/': page(script, '<script src="/dist/kperf.js" data-clock="instructions"></script>'), '/life.wasm': wasm,
    };
    const server = await serve(files, { isolated: true });
    const { body } = await visit(server.url, () => server.posts.find(({ trace }) => trace === undefined));
    await server.close();
    writeFileSync(trace, body);
}

for (const language of effort(['rust', 'kotlin'], ['rust', 'c', 'wat', 'assemblyscript', 'kotlin', 'go'])) {
    test(language, async () => {
        // Its name is the first of its arguments, and they are counted with all else.
        mkdirSync(join(work, language));
        const wasm = join(work, language, 'life');
        const bytes = probed(
            join(ROOT, `examples/game-of-life/${language}/life.wasm`), wasm, '--probe', 'inline', '--clock',
            'instructions', '--imports',
        );
        const trace = (host) => join(work, `${language}.${host}.kperf`);
        kperf('run', wasm, '--deterministic', '--trace', trace('wasmtime'), '--', STEPS);
        const hosts = language === 'go' ? GO_RUNTIME : OUTPUT;
        const expected = table(trace('wasmtime'), hosts);
        const step = Object.entries(expected).find(([name]) => /(^|[:./])step$/.test(name));
        assert.equal(step[1][0], Number(STEPS));
        for (const node of NODES) {
            inNode(node, wasm, trace('node'));
            assert.deepEqual(table(trace('node'), hosts), expected);
        }
        // (Kotlin's module has garbage-collected types, which it doesn't know.)
        if (language !== 'kotlin') {
            const beside = join(work, language, 'beside', 'life');
            mkdirSync(dirname(beside));
            probed(
                join(ROOT, `examples/game-of-life/${language}/life.wasm`), beside, '--probe', 'import', '--clock',
                'instructions', '--imports',
            );
            inNode(NODE, beside, trace('beside'));
            assert.deepEqual(table(trace('beside'), hosts), expected);
        }
        await inChromium(bytes, trace('chromium'));
        assert.deepEqual(table(trace('chromium'), hosts), expected);
        if (!isHere) return;
        await inFirefox(bytes, trace('firefox'));
        assert.deepEqual(table(trace('firefox'), hosts), expected);
    });
}

// Without isolation a page has no memory that is shared, and a module no room for its recorder.
test('a module that nobody has rewritten is counted in a page, and under register', async () => {
    const wasm = join(work, 'life');
    const original = readFileSync(join(ROOT, 'examples/game-of-life/rust/life.wasm'));
    writeFileSync(wasm, original);
    const trace = (host) => join(work, `untouched.${host}.kperf`);
    kperf('run', wasm, '--clock', 'instructions', '--deterministic', '--trace', trace('wasmtime'), '--', STEPS);
    const expected = table(trace('wasmtime'), OUTPUT);
    // `run` has calls of imports too.
    const own = (file) => Object.fromEntries(Object.entries(table(file, OUTPUT)).filter(([name]) => name in expected));
    const counted = Object.fromEntries(Object.entries(expected).filter(([name]) => !name.includes('wasi_snapshot')));
    for (const isolated of [true, false]) {
        await inChromium(original, trace('chromium'), { isolated, attributes: ' data-probe="auto"' });
        assert.deepEqual(own(trace('chromium')), counted);
    }
    for (const node of [NODE, ...NODES]) {
        inNode(node, wasm, trace('node'));
        assert.deepEqual(own(trace('node')), counted);
    }
});

test('a module with another clock than the recording is not recorded, and that is told', () => {
    const wasm = join(work, 'times.wasm');
    probed(join(ROOT, 'examples/game-of-life/wat/life.wasm'), wasm, '--probe', 'import');
    assert.match(
        inNode(NODES[0], wasm, join(work, 'refused.kperf')), /doesn't count its instructions: rewrite the original/,
    );
    if (hasMultiMemory) return;
    assert.equal(
        WebAssembly.validate(probed(join(ROOT, 'examples/game-of-life/wat/life.wasm'), wasm, '--probe', 'inline')),
        false,
    );
});
