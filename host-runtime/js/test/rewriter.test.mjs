// The rewriter: compared with the command; its size and sources.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { symbolsOf } from '../dist/common/hook/module-headers.js';
import { rewrite, rewritingOf } from '../dist/common/hook/rewriter.js';
import { idsOf, readSymbols } from '../dist/common/trace/symbols.js';
import { CLI, folder, kperf, ROOT } from './support/cli.mjs';
import { effort } from './support/effort.mjs';

const rewriting = (...args) => rewritingOf(rewrite(...args));
const work = folder();
const rewriter = new WebAssembly.Module(readFileSync('dist/rewriter.wasm'));

/** Published modules, and ours. */
const MODULES = {
    life: join(ROOT, 'examples/game-of-life/rust/life.wasm'),
    'sql-wasm': 'node_modules/sql.js/dist/sql-wasm.wasm',
    index_bg: 'node_modules/@resvg/resvg-wasm/index_bg.wasm',
};

/** The rewriter's options and the command's flags. */
const WAYS = [
    [{ probe: 'import' }, []],
    [{ probe: 'import', imports: true, id_base: 1000 }, ['--imports', '--id-base', '1000']],
    [{ probe: 'inline', leaf: 'count' }, ['--probe', 'inline', '--leaf', 'count']],
    [{ probe: 'profile' }, ['--record', 'profile']],
    [
        { probe: 'profile-without-spans', min_instructions: 20 },
        ['--record', 'profile', '--span-min', 'off', '--min-instructions', '20'],
    ],
    [{ probe: 'import', exports: true }, ['--exports']],
    [{ probe: 'import', only: ['/a/'], skip: ['m*'] }, ['--only', '/a/', '--skip', 'm*']],
    [{ probe: 'import', only: ['al'], match: 'text' }, ['--only', 'al', '--match', 'text']],
];

for (const [name, path] of Object.entries(MODULES)) {
    test(`${name} with probes is that of the command line, to the byte`, () => {
        const wasm = readFileSync(path);
        const to = join(work, 'probed.wasm');
        for (const [options, flags] of WAYS) {
            // Only this module has names.
            if (options.only && name !== 'life') continue;
            kperf('rewrite', path, '-o', to, ...flags);
            const { wasm: probed, summary } =
                rewrite(rewriter, wasm, { ...options, module_name: name, description: flags.join(' ') });
            assert.equal(Buffer.compare(probed, readFileSync(to)), 0, flags.join(' '));
            assert.equal(summary.probed > 0 && summary.probed <= summary.functions, true);
            assert.equal(summary.inline, options.probe !== 'import');
        }
    });
}

test('what can not be rewritten is told, and what has nothing to rewrite stays', () => {
    const life = readFileSync(MODULES.life);
    assert.match(rewriting(rewriter, life.subarray(0, 5000), {}), /^not a well-formed module: .* \(at offset 0x/);
    assert.match(rewriting(rewriter, life, { only: ['a[b'] }), /^bad pattern `a\[b`: unclosed character class/);
    assert.match(rewriting(rewriter, life, { prob: 'import' }), /^bad options: unknown field `prob`/);
    assert.equal(rewriting(rewriter, life, { only: ['nothing::*'] }), undefined);
    assert.equal(rewriting(rewriter, rewriting(rewriter, life, {}), {}), undefined);
});

test('its size and its speed', (t) => {
    const wasm = readFileSync('dist/rewriter.wasm');
    const packed = gzipSync(wasm, { level: 9 }).length;
    t.diagnostic(`rewriter.wasm: ${wasm.length} bytes, ${packed} gzip, ${brotliCompressSync(wasm).length} brotli`);
    // (560,000 until it knew components, allocators and debug information that moves, 610,000 until it read which calls
    // are inlined, 640,000 until it looked for split debug information, and packed large tables piece by piece, 646,000
    // until it read weights, 652,000 until it knew all of mimalloc.)
    assert.equal(packed < 656_000, true, `${packed} bytes gzipped`);
    assert.deepEqual(WebAssembly.Module.imports(rewriter), []);
    for (const [name, path] of Object.entries(MODULES).slice(0, effort(1, 3))) {
        // In its own process, as when a program loads its first module.
        const { bytes, ...millis } = JSON.parse(execFileSync(
            process.execPath, ['--input-type=module', '-e', MEASURE, path, join(work, 'timed.wasm'), CLI],
            { encoding: 'utf8' },
        ));
        const told = Object
            .entries(millis)
            .map(([what, millis]) => `${what} ${millis.toFixed(0)} ms, ${(bytes / 1000 / millis).toFixed(1)} MB/s`);
        t.diagnostic(`${name}, ${(bytes / 1e6).toFixed(2)} MB: ${told.join('; ')}`);
        assert.equal(told.length, 4);
    }
});

const MEASURE = `
    import { execFileSync } from 'node:child_process';
    import { readFileSync } from 'node:fs';
    import { rewrite } from './dist/common/hook/rewriter.js';
    const [path, to, command] = process.argv.slice(1);
    const wasm = readFileSync(path);
    const timed = async (act) => {
        const start = performance.now();
        await act();
        return performance.now() - start;
    };
    const rewriter = readFileSync('dist/rewriter.wasm');
    const first = () => rewrite(new WebAssembly.Module(rewriter), wasm, {});
    console.log(JSON.stringify({
        bytes: wasm.length,
        'WebAssembly.compile': await timed(() => WebAssembly.compile(wasm)),
        'rewritten first': await timed(first),
        'rewritten again': await timed(first),
        'by the command': await timed(() => execFileSync(command, ['rewrite', path, '-o', to, '--probe', 'inline'],
            { stdio: 'ignore' })),
    }));`;

test('it is built from these sources: scripts/js-core rewriter', () => {
    const sources = execFileSync(join(ROOT, 'scripts/js-core'), ['--sources', 'rewriter'], { encoding: 'utf8' });
    assert.equal(sources, readFileSync('rewriter/rewriter.sources', 'utf8'), 'scripts/js-core builds it anew');
});

test('the ids of a symbol table are read from its beginning', () => {
    // A long description has matches of LZ4.
    const numbers = Array.from({ length: 3000 }, (_, n) => (n * 7919) % 9973).join();
    for (const description of ['', 'only '.repeat(2000), numbers]) {
        for (const path of Object.values(MODULES)) {
            const wasm = rewriting(rewriter, readFileSync(path), { probe: 'import', id_base: 1000, description });
            const table = symbolsOf(wasm);
            const { idBase, names } = readSymbols(table);
            assert.deepEqual(idsOf(table), { idBase, functions: names.length });
            assert.equal(idBase, 1000);
        }
    }
    const table = symbolsOf(rewriting(rewriter, readFileSync(MODULES.life), { probe: 'import' }));
    assert.throws(() => idsOf(table.subarray(0, 10)), TypeError);
    for (let n = 0; n < 60; n++) {
        const broken = table.slice(0, 6 + 2 * n);
        broken[n % broken.length] ^= 1 << n % 8;
        try {
            idsOf(broken);
        } catch (error) {
            assert.ok(error instanceof TypeError, String(error.stack));
        }
    }
});
