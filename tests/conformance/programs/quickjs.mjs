// package: quickjs-emscripten
// toolchain: Emscripten, C, asyncify
// covers: a stack that waits for JavaScript's promises
// counts: same
import { createRequire } from 'node:module';
import { depth } from './depth.mjs';

const { newAsyncContext, newQuickJSWASMModule } = createRequire(import.meta.url)('quickjs-emscripten');
const sync = (await newQuickJSWASMModule()).newContext();
const show = (vm, result) => {
  console.log(JSON.stringify(vm.dump(result.error ?? result.value)).slice(0, 200), depth());
  (result.error ?? result.value).dispose();
};
show(sync, sync.evalCode('[...Array(1000).keys()].reduce((a, b) => a + b * b, 0)'));
show(sync, sync.evalCode('try { null.x } catch (error) { error.message }'));
show(sync, sync.evalCode('(function f(n) { if (n === 0) throw new RangeError("deep"); f(n - 1) })(100)'));
sync.newFunction('fail', () => { throw new Error('from outside'); }).consume((f) => sync.setProp(sync.global, 'fail', f));
show(sync, sync.evalCode('try { fail() } catch (error) { error.message }'));
const vm = await newAsyncContext();
vm.newAsyncifiedFunction('wait', async (n) => {
  await new Promise((resolve) => setTimeout(resolve, 2));
  return vm.newNumber(2 * vm.getNumber(n));
}).consume((f) => vm.setProp(vm.global, 'wait', f));
show(vm, await vm.evalCodeAsync('let s = 0; for (let n = 0; n < 5; n += 1) s += wait(n); s'));
show(vm, await vm.evalCodeAsync('(() => { wait(1); throw new Error("after waiting") })()'));
