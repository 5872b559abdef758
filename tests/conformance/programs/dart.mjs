// package: flet-web
// toolchain: dart2wasm, Flutter
// node: 24
// covers: garbage-collected types, legacy wasm exceptions, js-string builtins, 39,000 imported globals, JavaScript errors in the guest
// expect: unwound left
import { readFileSync } from 'node:fs';
import { close, depth } from './depth.mjs';

// Flutter wants a page and a renderer, which aren't there: main runs until it misses them.
Error.stackTraceLimit = 0;
globalThis.window = globalThis;
const { compile } = await import('./wheels/flet_web/web/main.dart.mjs');
const app = await compile(readFileSync(new URL('./wheels/flet_web/web/main.dart.wasm', import.meta.url)));
const nothing = new Proxy({}, { get: (_, name) => (name === 'then' ? undefined : () => 0) });
const memory = new WebAssembly.Memory({ initial: 256, maximum: 32768, shared: true });
const instance = await app.instantiate({ skwasm: nothing, skwasmWrapper: nothing, ffi: { memory } });
const { exports } = instance.instantiatedModule;
console.log(Object.keys(exports).length, depth());
process.on('uncaughtException', (error) => console.log(String(error).split('\n')[0], (close(), depth())));
instance.invokeMain();
console.log('main returned', depth());
await new Promise((resolve) => setTimeout(resolve, 200));
process.exit(0);
