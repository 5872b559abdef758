// package: sql.js
// toolchain: Emscripten 3, C
// covers: JavaScript functions in tables (addFunction), errors thrown through SQLite
import initSqlJs from 'sql.js';
import { depth } from './depth.mjs';

const SQL = await initSqlJs();
const db = new SQL.Database();
db.run('CREATE TABLE cells (x INT, y INT); CREATE INDEX by_x ON cells (x)');
for (let n = 0; n < 500; n += 1) db.run('INSERT INTO cells VALUES (?, ?)', [(n * 37) % 101, n]);
console.log(JSON.stringify(db.exec('SELECT x, count(*), sum(y) FROM cells GROUP BY x ORDER BY 3 DESC LIMIT 5')));
db.create_function('twice', (x) => 2 * x);
db.create_function('fail', (x) => {
  throw new Error(`no ${x}`);
});
console.log(JSON.stringify(db.exec('SELECT sum(twice(x)) FROM cells')), depth());
for (const sql of ['SELECT fail(1)', 'SELECT nothing', 'SELECT sum(fail(x)) FROM cells']) {
  try {
    db.exec(sql);
  } catch (error) {
    console.log(error.message, depth());
  }
}
console.log(db.export().length, depth());
