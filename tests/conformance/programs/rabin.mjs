// package: rabin-wasm
// toolchain: AssemblyScript
// counts: same
import { createRequire } from 'node:module';
import { depth } from './depth.mjs';

const { create } = createRequire(import.meta.url)('rabin-wasm');
const bytes = Uint8Array.from({ length: 1 << 18 }, (_, n) => (n * n * 31 + (n >> 7)) & 255);
const rabin = await create(13, 1 << 12, 1 << 15, 64);
console.log(rabin.fingerprint(bytes).join(' '), depth());
