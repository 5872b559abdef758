// The published files, in a plain install, in a Vite app and by a script tag.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import wabt from 'wabt';
import { launch, open } from './support/chromium.mjs';
import { folder, hasMultiMemory, kperf, PACKAGE, probed, ROOT } from './support/cli.mjs';
import { serve } from './support/server.mjs';

const work = folder();
const npm = (cwd, ...args) => execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
npm(PACKAGE, 'pack', '--ignore-scripts', '--pack-destination', work);
const [tarball] = readdirSync(work).filter((name) => name.endsWith('.tgz'));
const app = join(work, 'app');
mkdirSync(app);
writeFileSync(join(app, 'package.json'), JSON.stringify({ name: 'app', private: true, type: 'module' }));
npm(app, 'install', '--offline', '--no-audit', '--no-fund', join('..', tarball));
const calls = probed('test/programs/calls.wat', join(app, 'calls.wasm'));
const installed = join(app, 'node_modules/kperf-wasm');
const browser = await launch();
after(() => browser.close());

test('the package has what it should have, and nothing else', () => {
    const files = readdirSync(installed, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const paths = files.map((entry) => join(entry.path, entry.name).slice(installed.length + 1)).sort();
    const ours = /^dist\/((bundlers|common(\/[a-z]+)?|node(\/serve|\/cli)?|browser)\/[a-z0-9-]+|api)(\.d\.ts|\.js)$/;
    const others = paths.filter((path) => !ours.test(path));
    assert.deepEqual(others, [
        'LICENSE-APACHE', 'LICENSE-MIT', 'README.md', 'dist/core.wasm', 'dist/kperf.js',
        'dist/node/serve/send-licences.txt', 'dist/node/serve/send.cjs', 'dist/reports.wasm', 'dist/rewriter.wasm',
        'dist/worklet.js', 'package.json',
    ]);
    const { dependencies, exports } = JSON.parse(readFileSync(join(installed, 'package.json')));
    assert.equal(dependencies, undefined);
    const targets =
        JSON.stringify(exports).match(/\.\/[^"]+\.(js|ts|json)/g).filter((path) => path.startsWith('./dist'));
    for (const target of targets) assert.equal(paths.includes(target.slice(2)), true, target);
    // A page loads it before anything else. (64 KiB until its ticker learnt to nap, 72 until it could ask for probes,
    // 80 until `serve` could put them in and it reached workers of `data:` and frames, 84 until workers kept their own
    // policy, 88 until tickers slept and samplers let instances rest, 91 until pages measured no probes any more,
    // 92 until many instances shared a recorder and suspended stacks had waits. Workers joined their page within 94.)
    assert.equal(readFileSync(join(installed, 'dist/kperf.js')).length < 94 * 1024, true);
});

test('node takes it by its name', () => {
    writeFileSync(join(app, 'run.mjs'), `
        import { readFileSync } from 'node:fs';
        const { instance } = await WebAssembly.instantiate(readFileSync('calls.wasm'), { host: { call() {} } });
        instance.exports.outer(1);`);
    const { status, stderr } =
        spawnSync(process.execPath, ['--import', 'kperf-wasm/register', 'run.mjs'], { cwd: app, encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    assert.match(kperf('replay', join(app, 'run.kperf')), /inner\(\);/);
});

test('its types are complete', () => {
    writeFileSync(join(app, 'types.mts'), `
        import { createRecorder, type Summary } from 'kperf-wasm';
        const kperf = createRecorder({ path: 'x.kperf', clock: 'precise' });
        const summary: Promise<Summary> = kperf.finish();
        const value: number = kperf.span('x', () => 5);
        void [summary, value];`);
    symlinkSync(join(PACKAGE, 'node_modules/@types'), join(app, 'node_modules/@types'));
    writeFileSync(join(app, 'register.mts'), `
        import 'kperf-wasm/register';
        globalThis.kperf.setRecording(false);
        const finished: boolean = kperf.finished;
        void finished;`);
    writeFileSync(join(app, 'page.mts'), `
        import { createRecorder, PostSink } from 'kperf-wasm';
        import 'kperf-wasm/register';
        const recorder = createRecorder({ sink: new PostSink('/traces') });
        const blob: Blob = kperf.blob();
        void [recorder.ready, blob, globalThis.kperf.download];
        globalThis.kperfConfig = { clock: 'precise', post: '/traces' };`);
    const all = ['--noEmit', '--strict', '--target', 'es2022'];
    for (const options of [
        ['--module', 'nodenext', '--types', 'node', 'types.mts', 'register.mts'],
        // As a bundler's, for a page.
        [
            '--module', 'esnext', '--moduleResolution', 'bundler', '--types', '', '--lib', 'es2023,dom,dom.iterable',
            'page.mts',
        ],
    ]) {
        const { status, stdout } = spawnSync(
            process.execPath, [join(PACKAGE, 'node_modules/typescript/bin/tsc'), ...all, ...options],
            { cwd: app, encoding: 'utf8' },
        );
        assert.equal(status, 0, stdout);
    }
});

test('its command rewrites modules and reports, from the package alone', async () => {
    const npx = (...args) => spawnSync(join(app, 'node_modules/.bin/kperf-wasm'), args, { cwd: app, encoding: 'utf8' });
    const plain = join(ROOT, 'examples/game-of-life/rust/life.wasm');
    for (const flags of [[], ['--probe', 'inline', '--leaf', 'count'], ['--record', 'profile', '--only', 'life::*']]) {
        const { status, stderr } = npx('rewrite', plain, '-o', 'life.wasm', ...flags);
        assert.match(stderr, /life\.wasm -> life\.wasm: \d+ of \d+ functions probed, \d+ -> \d+ bytes\n$/);
        kperf('rewrite', plain, '-o', join(app, 'expected.wasm'), ...flags);
        assert.deepEqual(
            [status, Buffer.compare(readFileSync(join(app, 'life.wasm')), readFileSync(join(app, 'expected.wasm')))],
            [0, 0], flags.join(' '),
        );
    }
    assert.equal(
        npx('report', 'run.kperf', '--format', 'json').stdout,
        kperf('report', join(app, 'run.kperf'), '--format', 'json'),
    );
    const { stdout } = npx('report', 'run.kperf', '--limit', '1');
    assert.match(
        stdout,
        /^(# [^\n]+\n)+# calls: 3 of 3 functions, 1 lane\n *self %( +±)? +self +total +calls +avg[^\n]+\n[^\n]+ (outer|inner|leaf) [^\n]+\n# and 2 more functions\n/,
    );
    const life = join(ROOT, 'examples/game-of-life/c/life.wasm');
    const ran = npx('run', life, '--limit', '1', '--only', 'is*', '--only', 'nLive*', '--', '5');
    assert.equal(ran.status, 0);
    // A busy machine may have a warning.
    assert.match(ran.stderr, /^(warning: .*\n)*the trace is life\.kperf\n$/);
    assert.match(ran.stdout, /^5 steps, 19 live cells\n(# [^\n]+\n)+# calls: 18,000 of 2 functions, 1 lane\n/);
    assert.equal(npx(
        'run', life, '-q', '--trace', 'profile.kperf', '--record', hasMultiMemory ? 'profile' : 'trace', '--', '7',
    ).stdout, '7 steps, 19 live cells\n');
    assert.equal(JSON.parse(kperf('report', join(app, 'profile.kperf'), '--format', 'json')).functions.find(
        ({ name }) => name === 'isValidPosition',
    ).calls, 22_400);
    // A name can't reach the terminal as it is.
    const odd = (await wabt()).parseWat(
        'odd.wat',
        '(module (func (export "\\1b[2Jx\\0ay")) (func (export "_start") call 0) (memory (export "memory") 1))', {},
    );
    writeFileSync(join(app, 'odd.wasm'), odd.toBinary({}).buffer);
    assert.match(npx('run', 'odd.wasm').stdout, /  \\u\{1b\}\[2Jx\\ny /);
    for (const [args, message, code] of [
        [
            ['run'], 'error: name one module, not 0', 2,
        ], [['run', 'none.wasm'], 'error: ENOENT', 1], [['run', 'package.json'], 'error: ', 1],
        [
            ['rewrite', plain], 'error: name the rewritten module with -o FILE', 2,
        ], [['rewrite', plain, '-o', 'x', '--probe', 'outside'], 'error: --probe outside: use import or inline', 2],
        [
            ['rewrite', 'package.json', '-o', 'x'], 'error: not a well-formed module', 1,
        ], [['report', 'none.kperf'], 'error: ENOENT', 1],
        [
            ['report', '.'], 'error: `.` is a folder; name a trace', 1,
        ], [['run', 'profile.kperf'], 'error: `profile.kperf` is a trace', 1],
        [['report', 'package.json'], 'error: ', 1], [
            ['view'], 'error: name one trace, not 0', 2,
        ], [['graph'], 'error: unknown command `graph`', 2], [['report', '--all'], 'error: Unknown option', 2],
    ]) {
        const { status, stderr } = npx(...args);
        assert.deepEqual([status, stderr.startsWith(message)], [code, true], stderr);
    }
});

/** Opens a page and answers the calls that it has recorded. */
async function visit(files) {
    const server = await serve(files, { isolated: true });
    const { result } = await open(browser, server.url);
    await server.close();
    const path = join(work, 'page.kperf');
    writeFileSync(path, Buffer.from(result));
    return JSON.parse(kperf('report', path, '--format', 'json')).functions
        .map(({ name, calls }) => `${name} ${calls}`)
        .sort();
}

const EXPECTED = ['inner 1', 'leaf 1', 'outer 1'];
const PROGRAM = `
    globalThis.result = (async () => {
        const { instance } = await WebAssembly.instantiateStreaming(fetch('/calls.wasm'), { host: { call() {} } });
        instance.exports.outer(1);
        await kperf.finish();
        return Array.from(new Uint8Array(await kperf.blob().arrayBuffer()));
    })();`;

test('a script tag is enough', async () => {
    const script = readFileSync(join(installed, 'dist/kperf.js'));
    const page = `<!doctype html><script src="/kperf.js"></script><script type="module">${PROGRAM}</script>`;
    assert.deepEqual(await visit({ '/': page, '/kperf.js': script, '/calls.wasm': calls }), EXPECTED);
});

test('so is an import in a Vite app', async () => {
    writeFileSync(join(app, 'index.html'), '<!doctype html><script type="module" src="/main.js"></script>');
    writeFileSync(join(app, 'main.js'), `import 'kperf-wasm/register';\n${PROGRAM}`);
    execFileSync(
        process.execPath, [join(PACKAGE, 'node_modules/vite/bin/vite.js'), 'build', '--logLevel', 'warn'], { cwd: app },
    );
    const built = join(app, 'dist');
    cpSync(join(app, 'calls.wasm'), join(built, 'calls.wasm'));
    const files = { '/': readFileSync(join(built, 'index.html')), '/calls.wasm': calls };
    for (const name of readdirSync(join(built, 'assets'))) {
        files[`/assets/${name}`] = readFileSync(join(built, 'assets', name));
    }
    assert.deepEqual(await visit(files), EXPECTED);
});
