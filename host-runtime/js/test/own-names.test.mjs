// Programs with names that begin as ours do: imports from `kperf`, exports `kperf.*`, a custom section.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { hasMultiMemory, kperf } from './support/cli.mjs';
import { assembled, major, namesOf, run, work } from './support/program.mjs';


const OWN = `(module (import "kperf" "log" (func $log (param i32))) (import "kperf" "toString" (func $text (param i32)))
    (import "kperf:host" "hello" (func $hello))
    (memory (export "kperf.mem") 1) (global (export "kperf.answer") i32 (i32.const 42))
    (func $run (export "kperf.run") (call $log (i32.const 7)) (call $text (i32.const 8)) (call $hello))
    (func $main (export "main") (call $log (i32.const 9))))`;
assembled('own.wasm', OWN);
for (const name of ['leave', 'instructions']) {
    const type = name === 'leave' ? '(func $own (param i32))' : '(global $own (mut i64))';
    assembled(
        `${name}.wasm`,
        `(module (import "kperf" "${name}" ${type}) (func (export "one") (result i32) (i32.const 1)))`,
    );
}
assembled(
    'memory.wasm',
    '(module (memory (export "kperf.memory") 1) (func (export "one") (result i32) (i32.const 1)))',
);

const PROGRAM = `
    import { readFileSync } from 'node:fs';
    const module = new WebAssembly.Module(readFileSync('WORK/own.wasm'));
    const imports = { kperf: { log: (n) => console.log('log', n), toString: (n) => console.log('text', n) },
        'kperf:host': { hello: () => console.log('hello') } };
    for (const which of [module, structuredClone(module)]) {
        console.log(JSON.stringify([WebAssembly.Module.imports(which), WebAssembly.Module.exports(which)]));
        const { exports } = new WebAssembly.Instance(which, imports);
        console.log(Object.keys(exports), exports['kperf.answer'].value, exports['kperf.mem'].buffer.byteLength);
        exports['kperf.run']();
        exports.main();
    }`;

test('a program keeps its own names', () => {
    const plain = run(PROGRAM, { register: false });
    assert.match(plain.stdout, /log 7\ntext 8\nhello\nlog 9\n$/);
    const ways = [
        {}, { KPERF_PROBE: 'import' }, { KPERF_PROBE: 'import', KPERF_CLOCK: 'instructions' },
        ...(hasMultiMemory ? [{ KPERF_RECORD: 'profile' }] : []),
    ];
    for (const env of ways) {
        const { status, stdout, stderr, trace } = run(PROGRAM, { env });
        assert.deepEqual([status, stdout], [0, plain.stdout], stderr);
        assert.deepEqual(namesOf(trace), ['main', 'run']);
    }
});

test('a module that uses a name which probes need runs as it is, and that is said', () => {
    for (const [file, name, imports] of [
        ['leave', 'kperf.leave', '{ kperf: { leave() {} } }'],
        [
            'instructions', 'kperf.instructions',
            `{ kperf: { instructions: new WebAssembly.Global({ value: 'i64', mutable: true }, 5n) } }`,
        ],
        ['memory', 'kperf.memory', 'undefined'],
    ]) {
        for (const env of [{}, { KPERF_CLOCK: 'instructions', KPERF_PROBE: 'import' }]) {
            const { status, stdout, stderr, trace } = run(`
                import { readFileSync } from 'node:fs';
                const { module, instance } = await WebAssembly.instantiate(readFileSync('WORK/${file}.wasm'), ${imports});
                console.log(WebAssembly.Module.imports(module).length, Object.keys(instance.exports).join(),
                    instance.exports.one());`, { env });
            const seen = file === 'memory' ? '0 kperf.memory,one 1\n' : '1 one 1\n';
            assert.deepEqual([status, stdout, trace], [0, seen, undefined], stderr);
            assert.match(
                stderr,
                new RegExp(
                    `^kperf: wasm-[0-9a-f]{8} runs without probes: the module uses the name \`${name}\`, which is reserved for probes\n$`,
                ),
            );
        }
    }
});

test('a section of the program that is called as ours', () => {
    const bytes = readFileSync(join(work, 'own.wasm'));
    const section = [0, 14, 13, ...Buffer.from('kperf.symbols')];
    const { status, stdout, stderr } = run(`
        const module = new WebAssembly.Module(Uint8Array.of(${[...bytes, ...section]}));
        const none = () => undefined;
        const { exports } = new WebAssembly.Instance(module, { kperf: { log: none, toString: none },
            'kperf:host': { hello: none } });
        console.log(WebAssembly.Module.customSections(module, 'kperf.symbols').length, Object.keys(exports).length,
            exports.main());`);
    assert.deepEqual([status, stdout], [0, '1 4 undefined\n'], stderr);
    assert.match(stderr, /^kperf: a module is not recorded: a symbol table /);
});

test('an imported module has what the program supplies under our name', {
    skip: major < 24 && 'node imports no modules',
}, () => {
    const files = {
        'node_modules/kperf/package.json': '{ "name": "kperf", "type": "module", "exports": "./index.js" }',
        'node_modules/kperf/index.js': `export const log = (n) => console.log('log', n);\nconst text = (n) => console.log('text', n);\nexport { text as toString };`,
    };
    // (No package can be called \`kperf:host\`.)
    const text = OWN.replace('(import "kperf:host" "hello" (func $hello))', '(func $hello)');
    assembled('imported.wasm', text.replaceAll(/"kperf\.(?=run)/g, '"'));
    files['own.wasm'] = readFileSync(join(work, 'imported.wasm'));
    const program = `import { run, main } from './own.wasm';\nrun();\nmain();`;
    const plain = run(program, { register: false, files });
    assert.equal(plain.stdout, 'log 7\ntext 8\nlog 9\n', plain.stderr);
    const { status, stdout, stderr, trace } = run(program, { files });
    assert.deepEqual([status, stdout], [0, plain.stdout], stderr);
    assert.deepEqual(namesOf(trace).filter((name) => name !== 'hello'), ['main', 'run']);
});
