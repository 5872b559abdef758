// What php-asyncify.mjs and php-jspi.mjs run.
import { loadPHPRuntime, PHP } from '@php-wasm/universal';
import { depth } from './depth.mjs';

export async function php(kind) {
  const loader = await import(`./node_modules/@php-wasm/node-8-3/${kind}/php_8_3.js`);
  const php = new PHP(await loadPHPRuntime(loader));
  const show = async (code) => {
    try {
      const { text, exitCode } = await php.run({ code: `<?php ${code}` });
      console.log(text.trim().split('\n')[0], exitCode, depth());
    } catch (error) {
      console.log(error.message.trim().split('\n')[0], depth());
    }
  };
  await show('echo array_sum(array_map(fn($n) => $n * $n, range(1, 1000)));');
  await show('try { throw new RuntimeException("thrown"); } catch (Exception $e) { echo $e->getMessage(); } finally { echo "!"; }');
  await show('function f($n) { if ($n == 0) throw new Exception("deep"); return f($n - 1) + 1; } try { f(500); } catch (Exception $e) { echo count($e->getTrace()); }');
  await show('usleep(1000); echo "slept";');
  await show('echo preg_replace("/(o+)/", "<$1>", "foo boo"), " ", md5("x"), " ", json_encode(["a" => [1, 2]]);');
  await show('$d = new SQLite3(":memory:"); $d->exec("create table t(a)"); echo $d->querySingle("select count(*) from t");');
  await show('throw new Exception("out");');
  await show('exit(3);');
}
