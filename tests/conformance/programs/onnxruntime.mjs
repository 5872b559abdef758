// package: onnxruntime-web
// toolchain: Emscripten, C++ with JavaScript exceptions (invoke_*), pthreads
// node: 24
// covers: SIMD, threads
// expect: unwound varies
import * as ort from 'onnxruntime-web';
import { depth } from './depth.mjs';

// A model of one MatMul, in protobuf by hand.
const field = (number, bytes) => [(number << 3) | 2, ...varint(bytes.length), ...bytes];
const varint = (n) => (n < 128 ? [n] : [(n & 127) | 128, ...varint(n >> 7)]);
const text = (string) => [...Buffer.from(string)];
const number = (at, value) => [at << 3, ...varint(value)];
const shape = (dims) => dims.flatMap((dim) => field(1, number(1, dim)));
const value = (name, dims) => [...field(1, text(name)), ...field(2, field(1, [...number(1, 1), ...field(2, shape(dims))]))];
const model = (op) => {
  const node = [...field(1, text('a')), ...field(1, text('b')), ...field(2, text('c')), ...field(4, text(op))];
  const graph = [
    ...field(1, node), ...field(2, text('g')), ...field(11, value('a', [64, 64])), ...field(11, value('b', [64, 64])),
    ...field(12, value('c', [64, 64])),
  ];
  return Uint8Array.from([...number(1, 8), ...field(7, graph), ...field(8, number(2, 13))]);
};
ort.env.wasm.numThreads = 2;
const options = { executionProviders: ['wasm'] };
const session = await ort.InferenceSession.create(model('MatMul'), options);
const tensor = (seed) => new ort.Tensor('float32', Float32Array.from({ length: 4096 }, (_, n) => ((n * seed) % 17) / 4), [64, 64]);
const { c } = await session.run({ a: tensor(3), b: tensor(5) });
console.log(c.dims, c.data.slice(0, 8).join(' '), depth());
for (const bytes of [model('Nothing'), new Uint8Array(10)]) {
  const error = await ort.InferenceSession.create(bytes, options).catch((error) => error);
  console.log(error.message.split('\n')[0].slice(0, 80), depth());
}
process.exit(0);
