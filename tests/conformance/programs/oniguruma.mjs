// package: vscode-oniguruma
// toolchain: Emscripten, C
// counts: same
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { depth } from './depth.mjs';

const require = createRequire(import.meta.url);
const { OnigScanner, OnigString, loadWASM } = require('vscode-oniguruma');
await loadWASM({ data: readFileSync(require.resolve('vscode-oniguruma/release/onig.wasm')) });
const scanner = new OnigScanner(['(?<word>\\p{Alpha}+)(?=\\s)', '(a|aa)+b', '\\d{2,}', '(?i)EXIT']);
const text = new OnigString(`${'a'.repeat(18)} every exit 1234 ünïcode ${'aab'.repeat(20)}`);
for (let at = 0, match; (match = scanner.findNextMatchSync(text, at)); at = match.captureIndices[0].end + 1) {
  console.log(match.index, match.captureIndices.map(({ start, end }) => `${start}-${end}`).join(' '), depth());
}
text.dispose();
scanner.dispose();
try {
  new OnigScanner(['(unclosed']);
} catch (error) {
  console.log(String(error), depth());
}
