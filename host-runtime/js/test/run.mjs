// Runs the tests in this node, and in the current one those of what engines and their loaders do. With KPERF_TESTS=all, the current one and
// node 24 run all but browsers. `npm test -- WORD` takes the files with that word in their names, in all nodes.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';

process.chdir(new URL('..', import.meta.url).pathname);
const word = process.argv[2] ?? '';
const files = readdirSync('test').filter((name) => name.endsWith('.test.mjs') && name.includes(word));
if (files.length === 0) {
    console.error(`no test has \`${word}\` in its name`);
    process.exit(1);
}

// What a node does with modules, memories, threads and loaders.
const OF_THE_ENGINE = [
    'anchors', 'golden', 'inside', 'inside-alone', 'jco-trap', 'loading', 'own-names', 'profile', 'realms', 'recorder', 'sampler', 'switch',
    'threads-memory',
].map((name) => `${name}.test.mjs`);
const everything = word !== '' || process.env.KPERF_TESTS === 'all';
const gone = OF_THE_ENGINE.filter((name) => !existsSync(`test/${name}`));
if (gone.length > 0) {
    console.error(`scripts/test.mjs names tests that are gone: ${gone.join(' ')}`);
    process.exit(1);
}

// Milliseconds after which tests are ended that do not end by themselves.
const TIMEOUT = 25 * 60_000;
// npm puts a node that is one of our packages before the machine's.
const nodes = {
    'this node': process.env.npm_node_execpath ?? process.execPath,
    'node 24': 'node_modules/node-24/bin/node',
    'current node': 'node_modules/node-current/bin/node',
};
for (const [name, node] of Object.entries(nodes)) {
    // Browsers are the same whatever drives them.
    const chosen = files.filter((file) => {
        if (name === 'this node') return true;
        return everything ? !file.startsWith('browser') : name === 'current node' && OF_THE_ENGINE.includes(file);
    });
    if (chosen.length === 0) continue;
    const start = performance.now();
    const version = spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout?.trim();
    console.log(`== ${name}, ${version}`);
    const tests = chosen.map((file) => `test/${file}`);
    const options = ['--no-warnings', '--test', '--test-reporter=spec', '--test-concurrency=2'];
    const { status } = spawnSync(node, [...options, ...tests], { stdio: 'inherit', timeout: TIMEOUT });
    console.log(`== ${name} took ${((performance.now() - start) / 1000).toFixed(1)} s`);
    // What failed stands at the end of what is printed.
    if (status !== 0) process.exit(1);
}
