// package: @rollup/wasm-node
// toolchain: wasm-bindgen, Rust
// counts: same
import { rollup } from '@rollup/wasm-node';
import { depth } from './depth.mjs';

const files = {
  main: 'import { used } from "other"; import * as all from "more"; console.log(used(2), all.b?.c ?? `t${1}`);',
  other: 'export const used = (n) => n ** 2; export class Unused { #x = 1 }',
  more: 'export const b = { c: [...new Set([1, 2])] }; export default async function* () { yield 1 }',
  bad: 'export const = 3',
};
const plugins = [{ resolveId: (id) => id, load: (id) => files[id] }];
for (const input of ['main', 'bad']) {
  try {
    const bundle = await rollup({ input, plugins });
    const { output } = await bundle.generate({ format: 'es' });
    console.log(output[0].code, depth());
  } catch (error) {
    console.log(error.message, depth());
  }
}
