// package: webr
// toolchain: Emscripten, R in C and Fortran
// node: 24
// covers: a worker, side modules (BLAS), setjmp/longjmp by legacy wasm exceptions
// expect: unwound varies
import { WebR } from 'webr';

const r = new WebR({ interactive: false });
await r.init();
for (const code of [
  'sum((1:1000)^2)',
  'tryCatch(stop("caught"), error = function(e) conditionMessage(e))',
  'f <- function(n) if (n == 0) stop("deep") else f(n - 1); tryCatch(f(50), error = conditionMessage)',
  'round(coef(lm(mpg ~ wt, mtcars)), 6)',
  'round(solve(matrix(c(2, 1, 1, 3), 2)) %*% c(1, 2), 6)',
  'withCallingHandlers(sqrt(-1), warning = function(w) invokeRestart("muffleWarning"))',
]) {
  console.log(JSON.stringify(await (await r.evalR(code)).toJs()));
}
await r.evalR('stop("out")').catch((error) => console.log(error.message));
r.close();
process.exit(0);
