/** Runs a WASI command: `node run-wasi.js APP.wasm ARGUMENTS`. `npx kperf-wasm run` starts it with `register`. */

import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { WASI } from 'node:wasi';

const [path, ...args] = process.argv.slice(2);
// Without our settings.
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('KPERF_'))) as Record<string, string>;
const wasi = new WASI({ version: 'preview1', args: [basename(path!), ...args], env, preopens: { '.': '.' }, returnOnExit: true });
try {
    const module = await WebAssembly.compile(readFileSync(path!));
    const instance = await WebAssembly.instantiate(module, wasi.getImportObject() as WebAssembly.Imports);
    process.exitCode = wasi.start(instance) as unknown as number;
} catch (error) {
    process.stderr.write(`error: ${error instanceof WebAssembly.LinkError ? 'it needs imports that WASI preview 1 does not have: ' : ''}${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
}
