// A trapping component, translated by jco, in node under `register`.
import assert from 'node:assert/strict';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { transpile, writeFiles } from '@bytecodealliance/jco-transpile';
import { kperf, PACKAGE, ROOT } from './support/cli.mjs';
import { callsOf, run, work } from './support/program.mjs';

writeFileSync(join(work, 'package.json'), '{ "type": "module" }');
symlinkSync(join(PACKAGE, 'node_modules'), join(work, 'node_modules'));
const { files } = await transpile(
    join(ROOT, 'examples/components/command.wasm'), { outDir: join(work, 'command'), name: 'command' },
);
await writeFiles(files);
const runApp = (program, args, register) => run(program, { args, register, cwd: work });

test('a command that traps is told to its end', () => {
    const program = `
        import { run } from './command/command.js';
        try { await run.run(); } catch (error) { console.log(error.constructor.name); }
    `;
    const plain = runApp(program, ['5', '', 'panic'], false);
    const recorded = runApp(program, ['5', '', 'panic'], true);
    assert.equal(recorded.stdout, plain.stdout);
    assert.equal(recorded.status, plain.status);
    const info = JSON.parse(kperf('info', join(work, 'app.kperf'), '--format', 'json'));
    const cut = Object.values(info.cut_short).reduce((sum, count) => sum + count, 0);
    assert.ok(cut > 0);
    assert.equal(info.calls, info.leaves + cut);
    assert.ok(callsOf(join(work, 'app.kperf'), 'command::main') > 0);
});
