// Runs the tests in this node, and in those that are kept up besides. `npm test -- WORD` takes the files with that word in their names.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';

process.chdir(new URL('..', import.meta.url).pathname);
const word = process.argv[2] ?? '';
const files = readdirSync('test').filter((name) => name.endsWith('.test.mjs') && name.includes(word));
if (files.length === 0) {
    console.error(`no test has \`${word}\` in its name`);
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
    const chosen = files.filter((file) => name === 'this node' || !file.startsWith('browser'));
    if (chosen.length === 0) continue;
    const start = performance.now();
    const version = spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout?.trim();
    console.log(`== ${name}, ${version}`);
    const tests = chosen.map((file) => `test/${file}`);
    const { status } = spawnSync(node, ['--no-warnings', '--test', '--test-reporter=spec', ...tests], { stdio: 'inherit', timeout: TIMEOUT });
    console.log(`== ${name} took ${((performance.now() - start) / 1000).toFixed(1)} s`);
    // What failed stands at the end of what is printed.
    if (status !== 0) process.exit(1);
}
