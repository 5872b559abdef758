// package: @php-wasm/node-8-3
// toolchain: Emscripten, PHP 8.3, asyncify and invoke_*
// covers: stacks that are unwound and rewound by asyncify
import { php } from './php.mjs';
await php('asyncify');
