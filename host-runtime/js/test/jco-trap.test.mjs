// A trapping component, translated by jco, in node under `register`.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { transpile, writeFiles } from '@bytecodealliance/jco-transpile';
import { folder, kperf, PACKAGE, ROOT } from './support/cli.mjs';

const work = folder();
writeFileSync(join(work, 'package.json'), '{ "type": "module" }');
symlinkSync(join(PACKAGE, 'node_modules'), join(work, 'node_modules'));
const { files } = await transpile(
    join(ROOT, 'examples/components/command.wasm'), { outDir: join(work, 'command'), name: 'command' },
);
await writeFiles(files);
const REGISTER = pathToFileURL(join(PACKAGE, 'dist/node/register.js')).href;

function run(program, args, register) {
    writeFileSync(join(work, 'app.mjs'), program);
    const options = ['--no-warnings', ...(register ? ['--import', REGISTER] : []), 'app.mjs', ...args];
    return spawnSync(
        process.execPath, options,
        { cwd: work, encoding: 'utf8', env: { ...process.env, KPERF_CACHE: join(work, 'cache') } },
    );
}

const report = () => JSON.parse(kperf('report', join(work, 'app.kperf'), '--format', 'json'));
const callsOf = ({ functions }, name) => functions.find((f) => f.name === name)?.calls;

test('a command that traps is told to its end', () => {
    const program = `
        import { run } from './command/command.js';
        try { await run.run(); } catch (error) { console.log(error.constructor.name); }
    `;
    const plain = run(program, ['5', '', 'panic'], false);
    const recorded = run(program, ['5', '', 'panic'], true);
    assert.equal(recorded.stdout, plain.stdout);
    assert.equal(recorded.status, plain.status);
    const info = JSON.parse(kperf('info', join(work, 'app.kperf'), '--format', 'json'));
    const cut = Object.values(info.cut_short).reduce((sum, count) => sum + count, 0);
    assert.ok(cut > 0);
    assert.equal(info.calls, info.leaves + cut);
    assert.ok(callsOf(report(), 'command::main') > 0);
});
