// package: @resvg/resvg-wasm
// toolchain: wasm-bindgen, Rust
// counts: same
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { initWasm, Resvg } from '@resvg/resvg-wasm';
import { depth } from './depth.mjs';

await initWasm(readFileSync(createRequire(import.meta.url).resolve('@resvg/resvg-wasm/index_bg.wasm')));
const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="120" height="90">
  <defs><filter id="f"><feGaussianBlur stdDeviation="3"/></filter></defs>
  <circle cx="50" cy="45" r="30" fill="teal" filter="url(#f)"/><path d="M5 5 Q60 90 115 5" stroke="red" fill="none"/>
</svg>`;
const png = new Resvg(svg).render().asPng();
console.log(png.length, createHash('sha256').update(png).digest('hex'), depth());
try {
  new Resvg('<svg');
} catch (error) {
  console.log(String(error.message ?? error), depth());
}
