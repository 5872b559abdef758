// `KPERF_DATASET`: a process adds its run to a dataset when it ends.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { addRun } from '../dist/node/index.js';
import { CLI, folder, kperf, PACKAGE, probed, ROOT } from './support/cli.mjs';
import { effort } from './support/effort.mjs';

const work = folder();
const life = join(work, 'life.wasm');
probed(join(ROOT, 'examples/game-of-life/rust/life.wasm'), life);
const REGISTER = pathToFileURL(join(PACKAGE, 'dist/node/register.js')).href;
const program = (after = '') => `
    import { readFileSync } from 'node:fs';
    import { WASI } from 'node:wasi';
    const wasi = new WASI({ version: 'preview1', args: ['life', process.argv[2]], returnOnExit: true });
    const { instance } = await WebAssembly.instantiate(readFileSync(${JSON.stringify(life)}), wasi.getImportObject());
    wasi.start(instance);
    ${after}
`;
const fresh = () => mkdtempSync(join(work, 'run-'));
const OPTIONS = ['--no-warnings', '--import', REGISTER, 'app.mjs'];
const environment = (env) => ({ ...process.env, KPERF_DATASET: 'fleet', KPERF_TRACE: 'app-%p.kperf', ...env });

function run(cwd, { steps = '5', text = program(), env = {} } = {}) {
    writeFileSync(join(cwd, 'app.mjs'), text);
    return spawnSync(process.execPath, [...OPTIONS, steps], { cwd, encoding: 'utf8', env: environment(env) });
}

const callsIn = (of) => JSON.parse(kperf('report', of, '--format', 'json')).functions.find((f) => f.name === 'life::is_valid_position')?.calls;
const told = (cwd, ...args) => spawnSync(CLI, args, { cwd, encoding: 'utf8' });

test('a process adds its run, as `collect` would', () => {
    const cwd = fresh();
    const { status, stderr } = run(cwd, { env: { OTEL_SERVICE_NAME: 'shop', OTEL_RESOURCE_ATTRIBUTES: 'service.version=7,host.name=web-1,team=a' } });
    assert.match(stderr, /^kperf: \d+ events of 152 functions: kperf-wasm report app-\d+\.kperf\n$/);
    assert.equal(status, 0);
    assert.equal(callsIn(join(cwd, 'fleet')), 16_000);
    run(cwd, { steps: '6' });
    assert.equal(callsIn(join(cwd, 'fleet')), 16_000 + 19_200);
    // All that the command would put there is there, and it packs gzip anew.
    const { stderr: again } = told(cwd, 'collect', '.', '-o', 'fleet', '--compact');
    assert.match(again, /0 runs new, 2 taken before, 2 in all/);
    assert.equal(callsIn(join(cwd, 'fleet')), 16_000 + 19_200);
    const { stdout } = told(cwd, 'report', 'fleet', '--where', "service = 'shop' and version = '7' and host = 'web-1' and complete = true", '--format', 'csv');
    assert.match(stdout, /,16000,/);
});

test('threads are in the run of their process', () => {
    const cwd = fresh();
    writeFileSync(join(cwd, 'thread.mjs'), program());
    const text = `import { Worker } from 'node:worker_threads';
        for (const steps of ['1', '2', '3']) await new Promise((end) => new Worker(new URL('thread.mjs', import.meta.url), { argv: [steps] }).on('exit', end));`;
    assert.equal(run(cwd, { text }).status, 0);
    assert.equal(callsIn(join(cwd, 'fleet')), 3200 * 6);
    assert.equal(readdirSync(join(cwd, 'fleet/runs')).length, 1);
});

test('a program that goes to another folder, or fails, has its run there too', () => {
    const cwd = fresh();
    mkdirSync(join(cwd, 'deep'));
    assert.equal(run(cwd, { text: program(`process.chdir('deep');`) }).status, 0);
    assert.equal(run(cwd, { text: program(`throw new Error('no');`) }).status, 1);
    assert.equal(callsIn(join(cwd, 'fleet')), 2 * 16_000);
    const { stdout } = told(cwd, 'report', 'fleet', '--where', "outcome = 'error: no'", '--format', 'csv');
    assert.match(stdout, /,16000,/);
});

test('a dataset that can not be written is told, and the program ends as it would', () => {
    const cwd = fresh();
    writeFileSync(join(cwd, 'fleet'), 'a file');
    const { status, stderr } = run(cwd, { env: { KPERF_QUIET: '1' } });
    assert.equal(status, 0);
    assert.match(stderr, /^kperf: the run is not in the dataset `[^`]+fleet`: .*; `kperf-wasm collect [^ ]+app-\d+\.kperf -o [^ ]+fleet` adds it\n$/);
    mkdirSync(join(cwd, 'other'));
    writeFileSync(join(cwd, 'other/notes.txt'), 'mine');
    assert.match(run(cwd, { env: { KPERF_DATASET: 'other' } }).stderr, /no dataset, and not empty \(`notes.txt`\); name another folder/);
    assert.deepEqual(readdirSync(join(cwd, 'other')), ['notes.txt']);
    mkdirSync(join(cwd, 'later'));
    writeFileSync(join(cwd, 'later/kperf-dataset.json'), '{"kperf_dataset": {"major": 2, "minor": 0}}');
    assert.match(run(cwd, { env: { KPERF_DATASET: 'later' } }).stderr, /has version 2\.0; this kperf-wasm knows version 1/);
    const bucket = run(cwd, { env: { KPERF_DATASET: 's3://bucket/x' } });
    assert.match(bucket.stderr, /^kperf: KPERF_DATASET is `s3:\/\/bucket\/x`: name a folder/);
    assert.equal(bucket.status, 1);
});

test('a trace that was taken while it grew is replaced', () => {
    const cwd = fresh();
    const text = program(`
        import { execFileSync } from 'node:child_process';
        import { readdirSync } from 'node:fs';
        await new Promise((go) => setTimeout(go, 500));
        const trace = readdirSync('.').find((name) => name.endsWith('.kperf'));
        execFileSync(${JSON.stringify(CLI)}, ['collect', '-q', trace, '-o', 'fleet', '--service-name', 'other']);
        const again = new WASI({ version: 'preview1', args: ['life', '2'], returnOnExit: true });
        again.start((await WebAssembly.instantiate(readFileSync(${JSON.stringify(life)}), again.getImportObject())).instance);
    `);
    const { status, stderr } = run(cwd, { text, steps: '2' });
    assert.equal(status, 0, stderr);
    assert.equal(callsIn(join(cwd, 'fleet')), 2 * 6400);
    assert.deepEqual(readdirSync(join(cwd, 'fleet/runs')), ['service=other']);
    assert.match(told(cwd, 'collect', '.', '-o', 'fleet').stderr, /0 runs new, 1 taken before, 1 in all/);
});

test('killed at any point, the dataset reads, and `collect` completes it', async () => {
    const cwd = fresh();
    writeFileSync(join(cwd, 'app.mjs'), program());
    run(cwd);
    const kills = effort(8, 24);
    for (let n = 0; n < kills; n++) {
        const child = spawn(process.execPath, [...OPTIONS, '5'], { cwd, stdio: ['ignore', 'ignore', 'pipe'], env: environment({}) });
        // What it says before it adds its run is no sign; its trace's end is.
        const ended = new Promise((end) => child.on('exit', end));
        const trace = join(cwd, `app-${child.pid}.kperf`);
        while (child.exitCode === null && !(existsSync(trace) && readFileSync(trace).subarray(-4096).includes('ENDT', 'latin1'))) await new Promise((go) => setTimeout(go, 1));
        await new Promise((go) => setTimeout(go, (96 / kills) * n));
        child.kill('SIGKILL');
        await ended;
        assert.equal(callsIn(join(cwd, 'fleet')) % 16_000, 0);
    }
    told(cwd, 'collect', '.', '-o', 'fleet', '--compact');
    assert.equal(callsIn(join(cwd, 'fleet')), (kills + 1) * 16_000);
});

test('processes and commands add side by side', async () => {
    const cwd = fresh();
    writeFileSync(join(cwd, 'app.mjs'), program());
    const children = Array.from({ length: 6 }, () => spawn(process.execPath, [...OPTIONS, '5'], { cwd, stdio: 'ignore', env: environment({}) }));
    let running = children.length;
    const ended = children.map((child) => new Promise((end) => child.on('exit', (code) => (running--, end(code)))));
    while (running > 0) {
        // Each of them sweeps, takes what there is, and joins it.
        if (readdirSync(cwd).some((name) => name.endsWith('.kperf'))) told(cwd, 'collect', '-q', '.', '-o', 'fleet', '--compact');
        await new Promise((go) => setTimeout(go, 10));
    }
    assert.deepEqual(await Promise.all(ended), [0, 0, 0, 0, 0, 0]);
    told(cwd, 'collect', '-q', '.', '-o', 'fleet', '--compact');
    assert.equal(callsIn(join(cwd, 'fleet')), 6 * 16_000);
    assert.match(told(cwd, 'collect', '.', '-o', 'fleet').stderr, /0 runs new, 6 taken before, 6 in all/);
});

test('`run --dataset` adds the run of a command', () => {
    const cwd = fresh();
    const command = (...flags) => spawnSync(process.execPath, [join(PACKAGE, 'dist/node/cli.js'), 'run', '-q', '--dataset', 'fleet', ...flags, join(ROOT, 'examples/game-of-life/rust/life.wasm'), '--', '5'], { cwd, encoding: 'utf8' });
    const { status, stdout, stderr } = command();
    assert.deepEqual([status, stdout, stderr], [0, '5 steps, 19 live cells\n', '']);
    assert.equal(callsIn(join(cwd, 'fleet')), 16_000);
    writeFileSync(join(cwd, 'file'), '');
    assert.match(command('--dataset', 'file').stderr, /the run is not in the dataset/);
});

test('a program may add a trace itself', () => {
    const cwd = fresh();
    run(cwd, { env: { KPERF_DATASET: '', KPERF_CLOCK: 'precise' } });
    assert.equal(existsSync(join(cwd, 'fleet')), false);
    const trace = join(cwd, readdirSync(cwd).find((name) => name.endsWith('.kperf')));
    assert.deepEqual(addRun(trace, join(cwd, 'fleet'), { service: 'x' }), { new: true, warnings: [] });
    assert.deepEqual(readdirSync(join(cwd, 'fleet/runs')), ['service=x']);
    writeFileSync(join(cwd, 'broken.kperf'), 'no trace');
    assert.throws(() => addRun(join(cwd, 'broken.kperf'), join(cwd, 'fleet')), /^Error: kperf: the run is not in the dataset `.*`: .+/);
    assert.throws(() => addRun(join(cwd, 'missing.kperf'), join(cwd, 'fleet')), /ENOENT/);
});

test('it is built from these sources: scripts/js-core dataset', (t) => {
    const sources = execFileSync(join(ROOT, 'scripts/js-core'), ['--sources', 'dataset'], { encoding: 'utf8' });
    assert.equal(sources, readFileSync('dataset/dataset.sources', 'utf8'), 'scripts/js-core dataset builds it anew');
    const wasm = readFileSync('dist/dataset.wasm');
    t.diagnostic(`dataset.wasm: ${wasm.length} bytes, ${gzipSync(wasm, { level: 9 }).length} gzipped`);
});
