// package: zxing-wasm
// toolchain: Emscripten, C++ with JavaScript exceptions (invoke_*)
// expect: unwound
// counts: same
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { prepareZXingModule, readBarcodes, writeBarcode } from 'zxing-wasm';
import { depth } from './depth.mjs';

const wasmBinary = readFileSync(createRequire(import.meta.url).resolve('zxing-wasm/full/zxing_full.wasm'));
prepareZXingModule({ overrides: { wasmBinary } });
for (const format of ['QRCode', 'DataMatrix', 'Aztec', 'PDF417', 'EAN13']) {
  const { image, svg, error } = await writeBarcode(format === 'EAN13' ? '4006381333931' : 'every exit', { format });
  console.log(format, error, svg.length, depth());
  if (image) {
    const found = await readBarcodes(image);
    console.log(found.map(({ text, format }) => `${format} ${text}`), depth());
  }
}
console.log((await writeBarcode('not a number', { format: 'EAN13' })).error, depth());
