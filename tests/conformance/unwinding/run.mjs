// Runs a probed module with a recorder, in a world that is the same each time: node run.mjs KIND MODULE BLOCKS SHIM
//
// Each reading of the clock is the last one plus a microsecond. The recorder's blocks go to a file, their lengths in front.
import { appendFileSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { WASI } from 'node:wasi';

const [kind, module, blocks, shim] = process.argv.slice(2);
const { Module, Instance, Memory } = WebAssembly;

const memory = new Memory({ initial: 2, maximum: 2, shared: true });
let time = 0n;
const { exports: recorder } = new Instance(new Module(readFileSync(`${shim}/recorder.precise.wasm`)), {
  'kperf:host': {
    memory,
    now: () => (time += 1000n),
    flush(address, length) {
      appendFileSync(blocks, new Uint8Array(Uint32Array.of(length).buffer));
      appendFileSync(blocks, new Uint8Array(memory.buffer).slice(address, address + length));
    },
  },
});
const { enter, leave, unwind, depth, close } = recorder;
const kperf = { enter, leave, unwind, depth, close };
const probed = new Module(readFileSync(module));

const hosts = {
  wasi() {
    const wasi = new WASI({ version: 'preview1', returnOnExit: true });
    wasi.start(new Instance(probed, { ...wasi.getImportObject(), kperf }));
  },
  async emscripten() {
    const start = createRequire(import.meta.url)(`./${module.match(/[a-z]+-js/)[0]}.cjs`);
    await start({
      instantiateWasm(imports, receive) {
        const instance = new Instance(probed, { ...imports, kperf });
        receive(instance);
        return instance.exports;
      },
    });
  },
  javascript() {
    const catches = (f) => {
      try {
        f();
      } catch (error) {
        console.log(error.message);
      }
    };
    const throws = () => {
      throw new Error('from JavaScript');
    };
    const { exports } = new Instance(probed, { js: { throws, catches }, kperf });
    // A table takes a function of JavaScript's as another module's export:
    // (module (import "js" "f" (func $f)) (export "f" (func $f)))
    const hex = '0061736d01000000010401600000020801026a730166000007050101660000';
    const shape = new Module(Buffer.from(hex, 'hex'));
    const { exports: wrapped } = new Instance(shape, { js: { f: () => catches(exports.between) } });
    exports.table.set(0, wrapped.f);
    exports._start();
  },
};

try {
  await hosts[kind]();
} catch (error) {
  console.log(`left the guest: ${error instanceof Error ? error.message : 'an exception'}`);
}
console.log(`depth ${recorder.depth()}`);
recorder.close(3, 0);
recorder.flush();
