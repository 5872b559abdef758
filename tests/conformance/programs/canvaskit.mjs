// package: canvaskit-wasm
// toolchain: Emscripten, C++ without exceptions
// counts: same
import { createRequire } from 'node:module';
import { createHash } from 'node:crypto';
import { depth } from './depth.mjs';

const CanvasKit = await createRequire(import.meta.url)('canvaskit-wasm')();
const surface = CanvasKit.MakeSurface(200, 150);
const canvas = surface.getCanvas();
const paint = new CanvasKit.Paint();
paint.setAntiAlias(true);
for (let n = 0; n < 40; n += 1) {
  paint.setColor(CanvasKit.Color(n * 6, 255 - n * 6, 128, 0.5));
  canvas.drawRRect(CanvasKit.RRectXY(CanvasKit.XYWHRect(n * 4, n * 2, 60, 50), n / 3, 5), paint);
}
const path = CanvasKit.Path.MakeFromSVGString('M10 10 Q 100 140 190 10 Z');
canvas.drawPath(path, paint);
const png = surface.makeImageSnapshot().encodeToBytes();
console.log(png.length, createHash('sha256').update(png).digest('hex'), depth());
console.log(path.toSVGString(), CanvasKit.Path.MakeFromSVGString('nothing'), depth());
