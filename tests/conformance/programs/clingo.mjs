// package: clingo-wasm
// toolchain: Emscripten, C++ with legacy wasm exceptions
// expect: unwound
import { createRequire } from 'node:module';
import { depth } from './depth.mjs';

const clingo = createRequire(import.meta.url)('clingo-wasm');
const queens = '1 {q(I,1..6)} 1 :- I = 1..6. 1 {q(1..6,J)} 1 :- J = 1..6. :- q(I,J), q(K,L), I < K, |I-K| == |J-L|.';
for (const program of ['{a; b}. :- a, b.', queens, 'a :- not a.', 'a(X) :- b.', '???']) {
  const result = await clingo.run(program, 0);
  console.log(result.Result, JSON.stringify(result.Call?.[0].Witnesses?.slice(0, 3).map(({ Value }) => Value) ?? result.Error?.split('\n')[0]), depth());
}
