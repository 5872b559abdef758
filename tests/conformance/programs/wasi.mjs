// Runs a WASI command under node, as `kperf-wasm run` does. Its arguments are the module and those of the command.
import { readFileSync } from 'node:fs';
import { WASI } from 'node:wasi';

const [module, ...args] = process.argv.slice(2);
const wasi = new WASI({ version: 'preview1', args: [module, ...args], preopens: { '.': '.' }, returnOnExit: true });
const { instance } = await WebAssembly.instantiate(readFileSync(module), wasi.getImportObject());
process.exitCode = wasi.start(instance);
