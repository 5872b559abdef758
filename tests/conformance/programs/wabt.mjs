// package: wabt
// toolchain: Emscripten, C++
// counts: same
import { createRequire } from 'node:module';
import { depth } from './depth.mjs';

const wabt = await createRequire(import.meta.url)('wabt')();
const text = '(module (func (export "f") (param i32) (result i32) (if (result i32) (local.get 0) (then (i32.const 1)) (else (unreachable)))))';
const module = wabt.parseWat('a.wat', text);
module.validate();
const { buffer } = module.toBinary({ write_debug_names: true });
console.log(Buffer.from(buffer).toString('hex'), depth());
console.log(wabt.readWasm(buffer, { readDebugNames: true }).toText({ foldExprs: true }), depth());
for (const bad of ['(module', '(module (func (i32.add)))']) {
  try {
    wabt.parseWat('b.wat', bad).validate();
  } catch (error) {
    console.log(error.message.split('\n')[0], depth());
  }
}
