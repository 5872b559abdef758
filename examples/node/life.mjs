// Records the Game of Life in node:
//
//     kperf-wasm rewrite ../game-of-life/rust/life.wasm -o life.probed.wasm
//     node life.mjs life.probed.wasm 500
//     kperf-wasm report life.kperf
import { readFile } from 'node:fs/promises';
import { WASI } from 'node:wasi';
import { createRecorder } from 'kperf-wasm';

const [path, ...args] = process.argv.slice(2);
const wasi = new WASI({ version: 'preview1', args: ['life', ...args], returnOnExit: true });
const kperf = createRecorder({ path: 'life.kperf' });

// JavaScript's own work stands beside the guest's.
const module = await kperf.span('compile', async () => WebAssembly.compile(await readFile(path)));
const instance = await WebAssembly.instantiate(module, kperf.imports(wasi.getImportObject(), module));
const code = kperf.call(() => wasi.start(instance));

const { events, probes } = await kperf.finish(code === 0 ? 'completed' : `exit ${code}`);
console.log(`${events} events of ${probes} functions: kperf-wasm report life.kperf`);
process.exitCode = code;
