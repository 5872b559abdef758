// package: yoga-layout
// toolchain: Emscripten, C++
// counts: same
import Yoga, { Direction, Edge, FlexDirection, Wrap } from 'yoga-layout';
import { depth } from './depth.mjs';

const root = Yoga.Node.create();
root.setWidth(500);
root.setFlexDirection(FlexDirection.Row);
root.setFlexWrap(Wrap.Wrap);
for (let n = 0; n < 60; n++) {
  const node = Yoga.Node.create();
  node.setMargin(Edge.All, n % 4);
  if (n % 3) node.setWidth(20 + ((n * 7) % 50));
  else node.setMeasureFunc((width) => ({ width: Math.min(width, 10 + n), height: 12 }));
  if (n % 3) node.setHeight(10 + (n % 9));
  root.insertChild(node, n);
}
root.calculateLayout(undefined, undefined, Direction.LTR);
const boxes = Array.from({ length: 60 }, (_, n) => root.getChild(n).getComputedLayout());
console.log(boxes.map(({ left, top, width, height }) => [left, top, width, height].join(',')).join(' '), depth());
root.freeRecursive();
console.log(depth());
