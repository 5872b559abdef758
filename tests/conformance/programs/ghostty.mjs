// package: ghostty-web
// toolchain: Zig
// counts: same
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { depth } from './depth.mjs';

const wasm = readFileSync(createRequire(import.meta.url).resolve('ghostty-web/ghostty-vt.wasm'));
const { Ghostty } = await import('ghostty-web');
let memory;
const { instance } = await WebAssembly.instantiate(wasm, {
  env: { log: (at, length) => console.log(Buffer.from(memory.buffer, at, length).toString()) },
});
memory = instance.exports.memory;
const terminal = new Ghostty(instance).createTerminal(40, 6);
terminal.write('plain \x1b[1;31mred\x1b[0m\r\n\x1b[5;10Hfar \u{1f980}\x1b[?25l\x1b]0;title\x07');
for (let line = 0; line < 200; line += 1) terminal.write(`\x1b[38;5;${line}mline ${line}\r\n`);
terminal.update?.();
for (let row = 0; row < 6; row += 1) {
  const cells = terminal.getLine(row) ?? [];
  console.log(cells.map(({ codepoint, fg_r }) => `${codepoint}.${fg_r}`).join(' '), depth());
}
console.log(JSON.stringify(terminal.getCursor()), depth());
