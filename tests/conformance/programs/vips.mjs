// package: wasm-vips
// toolchain: Emscripten, C, C++ and Rust, pthreads and side modules
// node: 24
// covers: threads, SIMD, dlopen, legacy wasm exceptions
// expect: unwound left varies
import { createRequire } from 'node:module';
import { createHash } from 'node:crypto';
import { close, depth } from './depth.mjs';

const Vips = createRequire(import.meta.url)('wasm-vips');
const vips = await Vips();
// Emscripten's main ends by an exception, so that the threads live on.
close();
vips.concurrency(2);
const image = vips.Image.gaussnoise(300, 200, { seed: 1 }).abs().cast('uchar').gaussblur(3).rotate(30);
const png = image.writeToBuffer('.png');
console.log(image.width, image.height, image.avg().toFixed(6), depth());
console.log(png.length, createHash('sha256').update(png).digest('hex'), depth());
console.log(vips.Image.newFromBuffer(png).resize(0.5).sobel().avg().toFixed(6), depth());
for (const bad of [() => vips.Image.newFromBuffer('nothing'), () => image.extractArea(9999, 0, 10, 10)]) {
  try {
    bad();
  } catch (error) {
    // C++'s exception has left the guest.
    close();
    console.log(String(error.message).split('\n')[0], depth());
  }
}
vips.shutdown();
process.exit(0);
