// Takes Graphviz's module out of `lib/backend.js` of the npm package @viz-js/viz: node extract.mjs BACKEND.JS OUT.WASM
import fs from "node:fs";

const [, , source, target] = process.argv;
const text = fs.readFileSync(source, "utf8");
const begin = text.indexOf("findWasmBinary(){return binaryDecode(") + "findWasmBinary(){return binaryDecode(".length;
const literal = text.slice(begin, text.indexOf("')}", begin) + 1);
// The package's own decoding of its string, which stands in the same file as `binaryDecode`.
const bytes = Uint8Array.from(eval(literal), (c) => (~c.charCodeAt(0) >> 8) & c.charCodeAt(0));
fs.writeFileSync(target, bytes);
