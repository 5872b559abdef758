// package: pyodide
// toolchain: Emscripten 5, CPython 3.14
// node: 24
// covers: legacy wasm exceptions, JavaScript exceptions through the guest and back, modules made at run time
// expect: left varies
import { loadPyodide } from 'pyodide';
import { close, depth } from './depth.mjs';

const python = await loadPyodide();
globalThis.fail = (what) => {
  throw new Error(what);
};
const run = (code) => {
  try {
    console.log(String(python.runPython(code)), depth());
  } catch (error) {
    // Python's error has left the guest as JavaScript's.
    close();
    console.log(error.message.trim().split('\n').pop(), depth());
  }
};
run('sum(n * n for n in range(10000))');
run('import json, re; json.dumps({k: len(k) for k in re.findall("[a-z]+", "the quick brown fox")})');
run('1 / 0');
run(`
import js
def through():
    try:
        js.fail("from JavaScript")
    except Exception as error:
        return type(error).__name__ + ": " + str(error)
through()`);
run('js.fail("all the way")');
globalThis.back = python.runPython('lambda n: 1 // n');
run('[js.back(n) for n in (1, 2)]');
run('js.back(0)');
run(`
def deep(n):
    if n == 0:
        raise ValueError("bottom")
    try:
        return deep(n - 1)
    finally:
        pass
try:
    deep(200)
except ValueError as error:
    caught = str(error)
caught`);
run('import sys; sys.setrecursionlimit(300)\ndef forever(): return forever()\nforever()');
console.log(await python.runPythonAsync('import asyncio\nawait asyncio.sleep(0)\n"awaited"'), depth());
