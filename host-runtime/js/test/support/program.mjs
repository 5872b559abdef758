// Runs programs under `kperf-wasm/register`, and reads their traces.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import wabt from 'wabt';
import { folder, kperf, PACKAGE, replay, ROOT } from './cli.mjs';

/** A test file's own folder. */
export const work = folder();
export const REGISTER = pathToFileURL(join(PACKAGE, 'dist/node/register.js')).href;
export const LIFE = join(ROOT, 'examples/game-of-life/rust/life.wasm');
/** A module with a recursive `fib`, once `assembleFib` has written it. */
export const FIB = join(work, 'fib.wasm');
export const major = Number(process.versions.node.split('.')[0]);
const { parseWat } = await wabt();

/** Assembles a module into the folder. */
export function assembled(name, text) {
    const module = parseWat(name, text, { tail_call: true, threads: true });
    writeFileSync(join(work, name), module.toBinary({ write_debug_names: true }).buffer);
    module.destroy();
}

export function assembleFib() {
    assembled('fib.wasm', `(module (func $fib (export "fib") (param i32) (result i32)
        (if (result i32) (i32.lt_s (local.get 0) (i32.const 2)) (then (local.get 0)) (else (i32.add
            (call $fib (i32.sub (local.get 0) (i32.const 1))) (call $fib (i32.sub (local.get 0) (i32.const 2))))))))`);
}

/**
 * Runs a program in its own folder, beside `files`, and returns its output, status and traces. Paths replace the words
 * WORK, LIFE, FIB and REGISTER in its text. Variables that are undefined are not set. Imports get no probes unless KPERF_IMPORTS
 * is undefined or 1.
 */
export function run(program, options = {}) {
    const { args = [], env = {}, flags = [], register = true, name = 'app.mjs', files = {} } = options;
    const { cwd = mkdtempSync(join(work, 'run-')) } = options;
    const paths = { WORK: work, LIFE, FIB, REGISTER };
    const text = Object.entries(paths).reduce((text, [word, path]) => text.replaceAll(word, path), program);
    for (const [path, content] of Object.entries({ ...files, [name]: text })) {
        mkdirSync(dirname(join(cwd, path)), { recursive: true });
        writeFileSync(join(cwd, path), content);
    }
    const all = Object.entries({ ...process.env, KPERF_CACHE: join(work, 'cache'), KPERF_IMPORTS: '0', ...env });
    const given = Object.fromEntries(all.filter(([, value]) => value !== undefined));
    const { status, signal, stdout, stderr } = spawnSync(
        process.execPath, ['--no-warnings', ...flags, ...(register ? ['--import', REGISTER] : []), name, ...args],
        { cwd, encoding: 'utf8', env: given },
    );
    const traces = readdirSync(cwd).filter((name) => name.endsWith('.kperf')).sort();
    const trace = traces.includes('app.kperf') ? join(cwd, 'app.kperf') : undefined;
    return { status, signal, stdout, stderr, cwd, traces, trace };
}

export const report = (trace) => JSON.parse(kperf('report', trace, '--format', 'json', '--limit', '0'));
/** How often the first function of a name was called. */
export const callsOf = (trace, name) => report(trace).functions.find((f) => f.name === name)?.calls;
export const namesOf = (trace) => report(trace).functions.map(({ name }) => name).sort();
/** The calls one by one, without times. */
export const lines = (trace, ...options) =>
    replay(trace, ...options).split('\n').slice(1, -1).map((line) => line.replace(/^.*\| /, '').trimEnd());
