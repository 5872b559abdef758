// package: hash-wasm
// toolchain: clang, C without a library
// counts: same
import { argon2id, blake3, createSHA256, md5, sha3, xxhash64 } from 'hash-wasm';
import { depth } from './depth.mjs';

const text = 'every exit of every function '.repeat(500);
for (const hash of [md5, sha3, blake3, xxhash64]) console.log(await hash(text), depth());
const sha256 = await createSHA256();
for (let n = 0; n < 50; n++) sha256.update(text.slice(n));
console.log(sha256.digest(), depth());
console.log(await argon2id({ password: text, salt: 'saltsaltsalt', parallelism: 1, iterations: 3, memorySize: 256, hashLength: 16, outputType: 'hex' }), depth());
