// package: esbuild-wasm
// toolchain: Go, GOOS=js
// covers: goroutines that leave their frames and come back
// expect: varies
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { depth } from './depth.mjs';

globalThis.self = globalThis;
const require = createRequire(import.meta.url);
const esbuild = require('esbuild-wasm/lib/browser.js');
const wasmModule = await WebAssembly.compile(readFileSync(require.resolve('esbuild-wasm/esbuild.wasm')));
await esbuild.initialize({ wasmModule, worker: false });
const show = async (source, options) => {
  try {
    console.log((await esbuild.transform(source, options)).code, depth());
  } catch (error) {
    console.log(error.message, depth());
  }
};
await show('let x: number = 1 + 2; export default <T,>(y: T) => x ?? y', { loader: 'ts', minify: true, format: 'cjs' });
await show('const a = <div class="b">{c}</div>', { loader: 'jsx' });
await show('let = = 3', { loader: 'js' });
await show('a { color: rgb(255 0 0 / 50%); &:hover { b: c } }', { loader: 'css', minify: true, target: 'chrome80' });
const many = Array.from({ length: 20 }, (_, n) => esbuild.transform(`f(${n}, ${n} ** 2)`, { target: 'es2015' }));
console.log((await Promise.all(many)).map(({ code }) => code.trim()).join(''), depth());
await esbuild.stop();
process.exit(0);
