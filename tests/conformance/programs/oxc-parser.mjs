// package: @oxc-parser/binding-wasm32-wasi
// toolchain: wasi-sdk and Rust, wasm32-wasip1-threads under node:wasi
// covers: shared memory, workers with instances of their own
// expect: varies
import { createRequire } from 'node:module';
import { depth } from './depth.mjs';

// Its pool is one worker, which has loaded when it answers: Node 20 aborts where `exit` ends others that still load.
process.env.NAPI_RS_ASYNC_WORK_POOL_SIZE = '1';
const { parseSync, parse } = createRequire(import.meta.url)('@oxc-parser/binding-wasm32-wasi');
for (const source of ['let x: number = 1; export { x }', 'class A { #b = () => this.#b }', 'let = ;']) {
  const { program, errors } = parseSync('a.ts', source);
  console.log(program, errors.length, depth());
}
const later = await parse('b.js', 'import d, { e as f } from "g"; for await (const h of d) f(h);');
console.log(later.program, depth());
process.exit(0);
