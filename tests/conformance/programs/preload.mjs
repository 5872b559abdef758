// Puts probes into every module that a program compiles, and counts what they say. `node --import preload.mjs app.mjs`;
// workers get it too. Test glue: what is wrapped is what these programs use.
//
// KPERF_WASM     the command line tool, which rewrites
// KPERF_SHIM     the folder with the recorder
// KPERF_STATS    a folder for what each thread has counted

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { isMainThread, threadId } from 'node:worker_threads';

// Read now: programs empty `process.env` and replace functions of `fs`.
const { KPERF_WASM, KPERF_SHIM, KPERF_STATS } = process.env;
const { pid } = process;
const { Module, Instance, Memory, instantiate, validate } = WebAssembly;

const stats = { modules: 0, probed: 0, refused: [], enters: 0, leaves: 0, unwound: 0, escaped: 0, depth: 0 };
let open = 0;

const memory = new Memory({ initial: 2, maximum: 2, shared: true });
const clock = new Memory({ initial: 1, maximum: 1, shared: true });
const words = new Uint32Array(memory.buffer);

// A block: a header of 16 bytes, then words (guest-shim/src/word.rs).
function flush(address, length) {
  for (let at = (address + 16) >> 2; at < (address + length) >> 2; at += 1) {
    const word = words[at];
    if (word < 0x40000000) {
      stats.enters += 1;
      open += 1;
    } else if (word === 0x80000000) {
      stats.leaves += 1;
      open -= 1;
    } else if (word >= 0xc0000000 && word < 0xe0000000) {
      const depth = word & 0x3ffffff;
      stats[(word >>> 26) & 7 ? 'escaped' : 'unwound'] += open - depth;
      open = depth;
    } else if (word === 0xe0000000) {
      at += 2;
    }
  }
}

// The time stands still. Node 20 lacks the second memory in which the cheaper recorder reads it.
const ticker = readFileSync(`${KPERF_SHIM}/recorder.ticker.wasm`);
const precise = readFileSync(`${KPERF_SHIM}/recorder.precise.wasm`);
const { exports: recorder } = new Instance(new Module(validate(ticker) ? ticker : precise), {
  'kperf:host': { memory, clock, flush, now: () => 0n },
});
const { enter, leave, unwind, depth, close } = recorder;
const kperf = { enter, leave, unwind, depth, close };

globalThis.kperf = {
  depth: () => recorder.depth(),
  // What a host does when an exception has left the guest.
  close() {
    const left = recorder.depth();
    recorder.close(3, 0);
    return left;
  },
};

function tell() {
  recorder.flush();
  stats.depth = recorder.depth();
  if (open !== stats.depth) stats.refused.push(`events say depth ${open}, the recorder ${stats.depth}`);
  writeFileSync(`${KPERF_STATS}/${pid}-${threadId}.json`, JSON.stringify({ ...stats, main: isMainThread }));
}
process.on('exit', tell);
// Most workers don't come to their end.
if (!isMainThread) setInterval(tell, 20).unref();

// Emscripten makes the same small modules again and again.
const known = new Map();

function rewrite(source) {
  const bytes = ArrayBuffer.isView(source)
    ? Buffer.from(source.buffer, source.byteOffset, source.byteLength)
    : Buffer.from(source);
  if (!validate(bytes)) return source;
  const key = createHash('sha256').update(bytes).digest('hex');
  if (!known.has(key)) known.set(key, probed(bytes));
  return known.get(key);
}

function probed(bytes) {
  const { status, stdout, stderr } = spawnSync(KPERF_WASM, ['rewrite', '-', '-o', '-'], { input: bytes, maxBuffer: 1 << 30 });
  const said = String(stderr);
  // A module without functions comes back as it was.
  const functions = said.match(/: (\d+) of \d+ functions? probed/)?.[1] ?? 0;
  if (status !== 0) {
    stats.refused.push(said);
    return bytes;
  }
  stats.modules += 1;
  stats.probed += Number(functions);
  if (!isMainThread) tell();
  return stdout;
}

function withProbes(imports) {
  if (imports !== undefined && (imports === null || typeof imports !== 'object')) return imports;
  return new Proxy(imports ?? {}, { get: (target, key) => (key === 'kperf' ? kperf : Reflect.get(target, key)) });
}

const isModule = (source) => source instanceof Module;

WebAssembly.Module = new Proxy(Module, {
  construct: (target, [source, ...rest], self) =>
    Reflect.construct(target, [rewrite(source), ...rest], self === WebAssembly.Module ? target : self),
  // Programs that link by what a module imports see what it imported before.
  get: (target, key) =>
    key === 'imports' ? (module) => target.imports(module).filter((one) => one.module !== 'kperf') : target[key],
});
WebAssembly.Instance = new Proxy(Instance, {
  construct: (target, [module, imports], self) =>
    Reflect.construct(target, [module, withProbes(imports)], self === WebAssembly.Instance ? target : self),
});
WebAssembly.compile = async (source, ...rest) => new Module(rewrite(await source), ...rest);
WebAssembly.instantiate = async (source, imports, ...rest) =>
  instantiate(isModule(source) ? source : rewrite(source), withProbes(imports), ...rest);
WebAssembly.compileStreaming = async (response, ...rest) =>
  WebAssembly.compile(await (await response).arrayBuffer(), ...rest);
WebAssembly.instantiateStreaming = async (response, ...rest) =>
  WebAssembly.instantiate(await (await response).arrayBuffer(), ...rest);
