// The Rust command, with which tests rewrite modules and read traces.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));
export const PACKAGE = fileURLToPath(new URL('../..', import.meta.url));
export const CLI = process.env.KPERF_WASM_CLI ?? join(ROOT, 'target/release/kperf-wasm');
if (!existsSync(CLI)) throw new Error(`${CLI} is missing: cargo build --release`);

/** A folder for one test file, which is deleted at its end. */
export function folder() {
    const path = mkdtempSync(join(tmpdir(), 'kperf-js-'));
    process.on('exit', () => rmSync(path, { recursive: true, force: true }));
    return path;
}

/** Runs the command, and returns its stdout. */
export function kperf(...args) {
    return execFileSync(CLI, args, { encoding: 'utf8', maxBuffer: 2 ** 28, stdio: ['ignore', 'pipe', 'pipe'] });
}

/** The form of probes: `import`, or `inline` when inside.test.mjs runs the tests again. */
export const PROBE = process.env.KPERF_TEST_PROBE ?? 'import';
/** Whether the engine has multi-memory, which inlined probes need. */
export const hasMultiMemory = WebAssembly.validate(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 5, 5, 2, 0, 0, 0, 0));

/** A module with probes. Under `npm test` all files share rewritten modules. */
export function probed(path, to, ...options) {
    const isChosen = options.includes('--probe') || options.includes('--record');
    const flags = [...(isChosen ? [] : ['--probe', PROBE]), ...options];
    const { KPERF_TEST_FIXTURES: fixtures } = process.env;
    if (fixtures === undefined) return rewritten(path, to, flags);
    const key = createHash('sha256').update(readFileSync(path)).update(JSON.stringify([path, flags])).digest('hex');
    const kept = join(fixtures, `${key}.wasm`);
    if (!existsSync(kept)) {
        const unfinished = `${kept}.${process.pid}`;
        rewritten(path, unfinished, flags);
        renameSync(unfinished, kept);
    }
    copyFileSync(kept, to);
    return readFileSync(to);
}

function rewritten(path, to, flags) {
    kperf('rewrite', path, '-o', to, ...flags);
    return readFileSync(to);
}

/** The calls one by one, as a tree. */
export function replay(trace, ...options) {
    return kperf('replay', trace, ...options);
}
