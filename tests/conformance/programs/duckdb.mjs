// package: @duckdb/duckdb-wasm
// toolchain: Emscripten, C++ with legacy wasm exceptions
// covers: exceptions through hundreds of frames, JavaScript functions in tables
// expect: unwound
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { depth } from './depth.mjs';

const require = createRequire(import.meta.url);
const duckdb = require('@duckdb/duckdb-wasm/dist/duckdb-node-blocking.cjs');
const dist = dirname(require.resolve('@duckdb/duckdb-wasm/dist/duckdb-node-blocking.cjs'));
const bundle = { mainModule: join(dist, 'duckdb-eh.wasm'), mainWorker: '' };
const db = await duckdb.createDuckDB({ mvp: bundle, eh: bundle }, new duckdb.VoidLogger(), duckdb.NODE_RUNTIME);
await db.instantiate();
const connection = db.connect();
for (const sql of [
  'CREATE TABLE t AS SELECT range::INT AS n, (range * 7919 % 101)::INT AS m FROM range(5000)',
  'SELECT m, count(*)::INT AS c, sum(n)::INT AS s FROM t GROUP BY m ORDER BY s DESC LIMIT 3',
  'SELECT a.m, count(*)::INT AS c FROM t a JOIN t b ON a.m = b.n GROUP BY a.m ORDER BY c DESC, a.m LIMIT 3',
  'SELEC 1',
  'SELECT nothing FROM t',
  "SELECT CAST('x' AS INT)",
  'SELECT error(concat(n)) FROM t WHERE n = 4999',
  'SELECT count(*)::INT AS c FROM t',
]) {
  try {
    console.log(connection.query(sql).toArray().map(String).join(' '), depth());
  } catch (error) {
    console.log(error.message.split('\n')[0], depth());
  }
}
