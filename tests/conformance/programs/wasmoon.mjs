// package: wasmoon
// toolchain: Emscripten, Lua in C
// covers: setjmp/longjmp as JavaScript exceptions (invoke_*), errors through Lua, JavaScript and back
// expect: unwound varies
import { createRequire } from 'node:module';
import { depth } from './depth.mjs';

const { LuaFactory } = createRequire(import.meta.url)('wasmoon');
const lua = await new LuaFactory().createEngine();
lua.global.set('fail', (what) => {
  throw new Error(what);
});
lua.global.set('call', (f) => f());
const run = async (code) => {
  try {
    console.log(String(await lua.doString(code)), depth());
  } catch (error) {
    console.log(error.message.split('\n')[0], depth());
  }
};
await run('local s = 0 for n = 1, 10000 do s = s + n * n end return s');
await run('local ok, e = pcall(error, "caught") return tostring(ok) .. e');
await run('local ok, e = pcall(fail, "from JavaScript") return tostring(ok) .. tostring(e)');
await run('local function f(n) if n == 0 then error("deep") end return f(n - 1) + 1 end return select(2, pcall(f, 150))');
await run('return select(2, pcall(call, function() error("there and back") end))');
await run('local c = coroutine.wrap(function() for n = 1, 3 do coroutine.yield(n) end end) return c() + c() + c()');
await run('error("out")');
await run('local function forever() return 1 + forever() end forever()');
await run('return ("x"):rep(10):gsub("x", "yz")');
