// package: assemblyscript
// toolchain: AssemblyScript (the compiled program) and Emscripten (Binaryen, which compiles it)
// expect: unwound left
import asc from 'assemblyscript/asc';
import { close, depth } from './depth.mjs';

const source = `
  class Node { constructor(public key: i32, public left: Node | null = null, public right: Node | null = null) {} }
  function insert(node: Node | null, key: i32): Node {
    if (!node) return new Node(key);
    if (key < node.key) node.left = insert(node.left, key); else node.right = insert(node.right, key);
    return node;
  }
  function height(node: Node | null): i32 { return node ? 1 + max(height(node.left), height(node.right)) : 0; }
  export function run(count: i32): i32 {
    let root: Node | null = null;
    for (let n = 0; n < count; n++) root = insert(root, (n * 7919) % 10007);
    return height(root);
  }
  export function fail(): void { throw new Error("thrown"); }`;
const files = { 'a.ts': source };
const { error, stderr } = await asc.main(['a.ts', '-O2', '--outFile', 'a.wasm', '--exportRuntime'], {
  readFile: (name) => files[name] ?? null,
  writeFile: (name, content) => (files[name] = content),
  listFiles: () => [],
});
console.log(error?.message, String(stderr), files['a.wasm'].length, depth());
const env = { abort: (message, file, line, column) => { throw new Error(`abort at ${line}:${column}`); } };
const { instance } = await WebAssembly.instantiate(files['a.wasm'], { env });
console.log(instance.exports.run(3000), depth());
try {
  instance.exports.fail();
} catch (error) {
  close();
  console.log(error.message, depth());
}
