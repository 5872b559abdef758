// package: @duckdb/duckdb-wasm
// toolchain: Emscripten, C++ with legacy wasm exceptions
// covers: try, catch, rethrow, delegate
import { duckdb } from './duckdb.mjs';
await duckdb('eh');
