// Components that jco has made JavaScript and core modules of: `register` puts probes into these as into any module.
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
for (const name of ['library', 'command']) {
    const { files } = await transpile(join(ROOT, `examples/components/${name}.wasm`), { outDir: join(work, name), name });
    await writeFiles(files);
}
const REGISTER = pathToFileURL(join(PACKAGE, 'dist/node/register.js')).href;

function run(program, args, register) {
    writeFileSync(join(work, 'app.mjs'), program);
    const options = ['--no-warnings', ...(register ? ['--import', REGISTER] : []), 'app.mjs', ...args];
    return spawnSync(process.execPath, options, { cwd: work, encoding: 'utf8', env: { ...process.env, KPERF_CACHE: join(work, 'cache') } });
}

const report = () => JSON.parse(kperf('report', join(work, 'app.kperf'), '--format', 'json'));
const callsOf = ({ functions }, name) => functions.find((f) => f.name === name)?.calls;

test('functions, a resource and a command do as without probes, and their calls are counted', () => {
    const program = `
        import { cart } from './library/library.js';
        import { run } from './command/command.js';
        console.log(cart.primes(30).join(' '), cart.reverse('grüße'));
        const basket = new cart.Basket('me');
        basket.put({ name: 'tea', price: 3, count: 4 });
        console.log(basket.owner(), basket.total());
        try { cart.total([], { tag: 'percent', val: 101 }); } catch (error) { console.log(error.payload ?? error.message); }
        await run.run();
    `;
    const args = ['15', 'a rose is a rose'];
    const plain = run(program, args, false);
    assert.match(plain.stdout, /^2 3 5 7 11 13 17 19 23 29 eßürg\nme 12n\n[^]*\n610\n2 a\n1 is\n2 rose\n$/);
    assert.equal(plain.status, 0);
    const recorded = run(program, args, true);
    assert.equal(recorded.stdout, plain.stdout);
    assert.equal(recorded.status, 0);
    assert.match(recorded.stderr, /^kperf: \d+ events of \d+ functions: kperf-wasm report app.kperf\n$/);
    const told = report();
    assert.equal(callsOf(told, 'library::is_prime'), 30);
    assert.equal(callsOf(told, 'command::fibonacci'), 987);
    assert.equal(told.outcome, 'completed');
});

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
