// `npx kperf-wasm report|view|flame|diff`: compared with the Rust command. Names in traces don't change a terminal.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { folder, kperf, PACKAGE, ROOT } from './support/cli.mjs';
import { effort } from './support/effort.mjs';

const work = folder();
const life = join(ROOT, 'examples/game-of-life/rust/life.wasm');
const traces = ['a', 'b', 'c', 'd'].map((name, n) => {
    const path = join(work, `${name}.kperf`);
    kperf('run', life, '-q', '--clock', 'test', '--trace', path, '--', String(2 + n));
    return path;
});
const profile = join(work, 'profile.kperf');
kperf('run', life, '-q', '--record', 'profile', '--trace', profile, '--', '2000');

const repeated = join(work, 'repeated.kperf');
kperf('run', life, '-q', '--repeat', '4', '--trace', repeated, '--', '50');

/** Runs the package's command in its own folder. */
function npx(...args) {
    const { status, stdout, stderr } =
        spawnSync(process.execPath, [join(PACKAGE, 'dist/node/cli/main.js'), ...args], { cwd: work, maxBuffer: 2 ** 28 });
    return { status, stdout: String(stdout), stderr: String(stderr) };
}
function ok(...args) {
    const { status, stdout, stderr } = npx(...args);
    assert.equal(status, 0, stderr);
    return { stdout, stderr };
}
const FILTERS = [
    [], ['--skip', '/neighbors/', '--depth', '4'], ['--min-time', '10us', '--range', '100us~20ms'],
    ...effort([], [['--only', 'life::*'], ['--lane', '0', '--match', 'text', '--only', 'life']]),
];

test('a page is the one that the command of Rust writes', () => {
    for (const [trace, ...flags] of [
        ...FILTERS.map((flags) => [traces[2], ...flags]), [profile], [repeated], [traces[2], '--detail', '100'],
    ]) {
        kperf('view', trace, '--no-open', '-o', join(work, 'expected.html'), ...flags);
        ok('view', trace, '--no-open', '-o', 'page.html', ...flags);
        assert.equal(
            readFileSync(join(work, 'page.html'), 'utf8') === readFileSync(join(work, 'expected.html'), 'utf8'), true,
            flags.join(' '),
        );
    }
    assert.match(ok('view', traces[0], '--no-open').stderr, /^a\.html: [\d,]+ calls, each drawn as a span$/m);
});

test('so are pictures', () => {
    for (const [trace, ...flags] of [
        ...FILTERS.map((flags) => [traces[1], ...flags]), [traces[1], '--reverse'], [traces[1], '--folded'],
        [traces[1], '--chart'], [traces[1], '--by', 'calls'], [profile], [repeated],
    ]) {
        kperf('flame', trace, '-o', join(work, 'expected.svg'), ...flags);
        ok('flame', trace, '-o', 'flame.svg', ...flags);
        assert.equal(
            readFileSync(join(work, 'flame.svg'), 'utf8'), readFileSync(join(work, 'expected.svg'), 'utf8'),
            flags.join(' '),
        );
    }
});

test('so are tables, with the same digits and errors', () => {
    const precise = join(work, 'precise.kperf');
    kperf('run', life, '-q', '--clock', 'precise', '--trace', precise, '--', '3');
    for (const [trace, ...flags] of [
        [repeated], [precise], [precise, '--compensate'], [profile], [profile, '--limit', '2'], [traces[0]], [repeated, '--format', 'json'],
    ]) {
        const { stdout } = ok('report', trace, ...flags);
        assert.equal(stdout, kperf('report', trace, ...flags), `${trace} ${flags.join(' ')}`);
    }
    const [ours, errors] = [ok('report', repeated).stdout, ok('report', precise).stdout];
    assert.match(ours, /^# times: means of 4 runs /);
    for (const table of [ours, errors]) assert.match(table, /^self % +± +self /m);
});

test('so are comparisons', () => {
    for (const flags of [
        ['--metric', 'self'], ['--by', 'path', '--metric', 'total'],
        ...effort([], [['--metric', 'calls'], ['--limit', '2'], ['--only', 'life::*']]),
    ]) {
        for (const sides of [[traces[0], traces[1]], [traces[0], traces[1], '--', traces[2], traces[3]]]) {
            const args = ['diff', ...flags, '--format', 'json', ...sides];
            assert.deepEqual(JSON.parse(ok(...args).stdout), JSON.parse(kperf(...args)), args.join(' '));
        }
    }
    const { stdout } = ok('diff', traces[0], traces[1]);
    assert.match(stdout, /^# A: 1 run, life\n# B: 1 run, life\n# self: /);
    assert.match(stdout, /^ *self B-A +self A +self B +B\/A .* function$/m);
});

test('a trace may come from a pipe, and a page go to one', () => {
    const input = readFileSync(traces[0]);
    const page = (...args) =>
        execFileSync(process.execPath, [join(PACKAGE, 'dist/node/cli/main.js'), ...args], { input, maxBuffer: 2 ** 28 });
    kperf('view', traces[0], '--no-open', '-o', join(work, 'stdin.html'));
    assert.equal(page('view', '-', '-o', '-').length > 50_000, true);
    assert.equal(String(page('flame', '-', '-o', '-', '--folded')), String(
        execFileSync(process.execPath, [join(PACKAGE, 'dist/node/cli/main.js'), 'flame', traces[0], '-o', '-', '--folded']),
    ));
});

test('what goes wrong is said, and nothing is left of it', () => {
    const before = readdirSync(work).sort();
    writeFileSync(join(work, 'none.kperf'), 'no trace');
    for (const [status, message, ...args] of [
        [1, /none\.kperf.*not.*trace/i, 'view', 'none.kperf', '-o', 'x.html'],
        [1, /no such file/i, 'flame', 'missing.kperf', '-o', 'x.svg'],
        [1, /--only `nobody` matches none/, 'flame', traces[0], '-o', 'x.svg', '--only', 'nobody'],
        [1, /is an input and would be overwritten/, 'view', traces[0], '-o', traces[0]],
        [1, /--range 2ms~1ms: it ends before/, 'view', traces[0], '-o', 'x.html', '--range', '2ms~1ms'],
        [1, /is a profile/, 'view', profile, '-o', 'x.html', '--min-time', '1ms'],
        [2, /name the picture with -o FILE/, 'flame', traces[0]],
        [2, /--by bytes/, 'flame', traces[0], '-o', 'x.svg', '--by', 'bytes'],
        [2, /name two traces/, 'diff', traces[0]],
        [2, /name one trace, not 0/, 'view'],
        [2, /unknown command `graph`/, 'graph'],
    ]) {
        const { status: found, stderr } = npx(...args);
        assert.equal(found, status, stderr);
        assert.match(stderr, message);
    }
    assert.deepEqual(readdirSync(work).sort(), [...before, 'none.kperf'].sort());
    assert.ok(readFileSync(traces[0]).length > 1000);
});

test('names do nothing to a terminal', () => {
    const cwd = mkdtempSync(join(work, 'names-'));
    const name = '\u001b]0;owned\u0007\u009b31m\u202e';
    // Two names in a name section of a module with one function, which is exported.
    const text = new TextEncoder().encode(name);
    const section = (id, bytes) => [id, bytes.length, ...bytes];
    const names = section(1, [1, 0, text.length, ...text]);
    const custom = [4, ...Buffer.from('name'), ...names];
    const wasm = Uint8Array.from([
        0, 97, 115, 109, 1, 0, 0, 0, ...section(1, [1, 0x60, 0, 0]), ...section(3, [1, 0]),
        ...section(7, [1, 1, 102, 0, 0]), ...section(10, [1, 2, 0, 0x0b]), ...section(0, custom),
    ]);
    writeFileSync(join(cwd, 'm.wasm'), wasm);
    const program = `const { readFileSync } = require('node:fs'); WebAssembly.instantiate(readFileSync('m.wasm')).then(({ instance }) => instance.exports.f());`;
    const { status, stderr } = spawnSync(
        process.execPath, ['--import', join(PACKAGE, 'dist/node/register.js'), '--eval', program],
        { cwd, encoding: 'utf8', env: { ...process.env, KPERF_TRACE: 'm.kperf', KPERF_CACHE: '0' } },
    );
    assert.equal(status, 0, stderr);
    for (const args of [
        ['report', join(cwd, 'm.kperf')], ['diff', join(cwd, 'm.kperf'), join(cwd, 'm.kperf')],
        ['report', `missing${name}`],
    ]) {
        const said = npx(...args);
        assert.match(said.stdout + said.stderr, /owned/);
        // eslint-disable-next-line no-control-regex
        assert.doesNotMatch(said.stdout + said.stderr, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/, args[0]);
    }
});

test('it is built from these sources: scripts/js-core reports', (t) => {
    const sources = execFileSync(join(ROOT, 'scripts/js-core'), ['--sources', 'reports'], { encoding: 'utf8' });
    assert.ok(existsSync('reports/reports.sources'), 'scripts/js-core reports builds it');
    assert.equal(sources, readFileSync('reports/reports.sources', 'utf8'), 'scripts/js-core reports builds it anew');
    const wasm = readFileSync('dist/reports.wasm');
    t.diagnostic(`reports.wasm: ${wasm.length} bytes, ${gzipSync(wasm, { level: 9 }).length} gzipped`);
    const imports =
        WebAssembly.Module.imports(new WebAssembly.Module(wasm)).map(({ module, name }) => `${module}.${name}`);
    assert.deepEqual(imports.sort(), ['kperf.read', 'kperf.rewind', 'kperf.write']);
});
