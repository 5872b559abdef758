// package: @php-wasm/node-8-3
// toolchain: Emscripten, PHP 8.3, JSPI
// node: 24
// covers: stacks that the engine suspends (JavaScript promise integration), legacy wasm exceptions
import { php } from './php.mjs';
await php('jspi');
