// package: @hpcc-js/wasm-graphviz
// toolchain: Emscripten, C and C++
// counts: same
import { Graphviz } from '@hpcc-js/wasm-graphviz';
import { depth } from './depth.mjs';

const graphviz = await Graphviz.load();
for (const engine of ['dot', 'neato', 'circo']) {
  console.log(graphviz.layout('digraph { a -> b -> c; a -> c; subgraph cluster { d -> e } c -> e }', 'plain', engine), depth());
}
try {
  graphviz.layout('digraph { a -> ', 'svg', 'dot');
} catch (error) {
  console.log(error.message.trim(), depth());
}
