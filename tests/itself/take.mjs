// take.mjs MODULE TRACE: calls the export `run` of a module without WASI, and writes what `kperf.take` gives. `run` may trap.
import { readFileSync, writeFileSync } from 'node:fs';

const [module, trace] = process.argv.slice(2);
const { instance } = await WebAssembly.instantiate(readFileSync(module), {
    host: { call: (f) => f(), grow: (pages) => instance.exports.memory.grow(pages) },
});
try {
    instance.exports.run();
} catch (error) {
    console.log(error.message);
}
const taken = BigInt.asUintN(64, instance.exports['kperf.take']());
const [address, length] = [Number(taken & 0xffffffffn), Number(taken >> 32n)];
writeFileSync(trace, new Uint8Array(instance.exports['kperf.memory'].buffer, address, length));
