// package: @vscode/tree-sitter-wasm
// toolchain: Emscripten, C
// covers: side modules (dlopen), several modules with one memory and one table
// counts: same
import { createRequire } from 'node:module';
import { depth } from './depth.mjs';

const require = createRequire(import.meta.url);
const { Language, Parser } = require('@vscode/tree-sitter-wasm');
await Parser.init();
const sources = {
  typescript: 'const a: number[] = [1, 2, { "b": null }]; let = 3',
  go: 'package main\nfunc main() { for i := 0; i < 3; i++ { println(i) } }',
  python: 'def f(x):\n    return [y for y in x if y > 0]\n',
  rust: 'fn main() { let v: Vec<u8> = vec![1, 2]; v.iter().map(|n| n + 1); }',
};
for (const [name, source] of Object.entries(sources)) {
  const language = await Language.load(require.resolve(`@vscode/tree-sitter-wasm/wasm/tree-sitter-${name}.wasm`));
  const parser = new Parser();
  parser.setLanguage(language);
  console.log(parser.parse(source).rootNode.toString(), depth());
  const { rootNode } = parser.parse((at) => source.slice(at, at + 7));
  console.log(rootNode.descendantCount, rootNode.hasError, depth());
}
