// Runs the tests. The short form runs each file once: in the current node the files that depend on the engine, in the
// oldest node all others, with both browsers. It leaves out what rarely breaks: the files in RARELY, cases that are like
// others (support/effort.mjs), and engines between the oldest and the newest. KPERF_TESTS=all runs everything: all files
// in the oldest node, and all but browsers in node 24 and the current node.
// `npm test -- WORD` runs the files with WORD in their names in all nodes.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

process.chdir(new URL('..', import.meta.url).pathname);
const named = (...names) => names.map((name) => `${name}.test.mjs`);

/** Files whose behavior depends on the engine. */
const OF_THE_ENGINE = named(
    'anchors', 'contexts', 'golden', 'imports', 'inside', 'inside-alone', 'jco-trap', 'loading', 'many', 'own-names',
    'profile', 'realms', 'recorder', 'sampler', 'signals', 'soak', 'switch', 'threads-memory', 'waits',
);
/** Published tools, examples, and variants of other files' tests. */
const RARELY = named(
    'browser-examples', 'browser-ffmpeg', 'browser-instructions-programs', 'browser-policies', 'browser-suspension', 'bundlers', 'cpu',
    'jco', 'jco-trap', 'limits', 'own-names', 'toolchains',
);
/** Milliseconds after which tests are killed. */
const TIMEOUT = 25 * 60_000;

const all = readdirSync('test').filter((name) => name.endsWith('.test.mjs'));
const gone = [...OF_THE_ENGINE, ...RARELY].filter((name) => !all.includes(name));
if (gone.length > 0) fail(`test/run.mjs names tests that are gone: ${gone.join(' ')}`);
const word = process.argv[2] ?? '';
const files = all.filter((name) => name.includes(word));
if (files.length === 0) fail(`no test has \`${word}\` in its name`);

const isBrowser = (file) => file.startsWith('browser');
const isEngine = (file) => OF_THE_ENGINE.includes(file);
const isLong = word !== '' || process.env.KPERF_TESTS === 'all';
const short = files.filter((file) => !RARELY.includes(file));
const beyondBrowsers = files.filter((file) => !isBrowser(file));
// npm's PATH has the nodes of our packages before the machine's.
const [oldest, middle, current] = [
    process.env.npm_node_execpath
        ?? process.execPath, 'node_modules/node-24/bin/node', 'node_modules/node-current/bin/node',
];
const passes = isLong
    ? [[oldest, files], [middle, beyondBrowsers], [current, beyondBrowsers]]
    : [[oldest, short.filter((file) => !isEngine(file))], [current, short.filter(isEngine)]];

// Rewritten modules, shared by all files (support/cli.mjs).
const fixtures = mkdtempSync(join(tmpdir(), 'kperf-js-fixtures-'));
process.on('exit', () => rmSync(fixtures, { recursive: true, force: true }));
for (const [node, chosen] of passes.filter(([, chosen]) => chosen.length > 0)) {
    const start = performance.now();
    const version = spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout?.trim();
    console.log(`== node ${version}: ${chosen.length} files`);
    const options = ['--no-warnings', '--test', '--test-reporter=spec', '--test-concurrency=2'];
    const { status } = spawnSync(node, [...options, ...chosen.map((file) => `test/${file}`)], {
        stdio: 'inherit', timeout: TIMEOUT, env: { ...process.env, KPERF_TEST_FIXTURES: fixtures },
    });
    console.log(`== node ${version} took ${((performance.now() - start) / 1000).toFixed(1)} s`);
    // Failures are at the end of the output.
    if (status !== 0) process.exit(1);
}

function fail(message) {
    console.error(message);
    process.exit(1);
}
