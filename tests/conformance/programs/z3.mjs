// package: z3-solver
// toolchain: Emscripten, C++ with JavaScript exceptions (invoke_*) and pthreads
// node: 24
// covers: threads that run guest code at the same time
// expect: varies
import { createRequire } from 'node:module';
import { depth } from './depth.mjs';

const { init } = createRequire(import.meta.url)('z3-solver');
const { Context } = await init();
const { Solver, Int, And, Or } = new Context('main');
const [x, y] = [Int.const('x'), Int.const('y')];
const solver = new Solver();
solver.add(And(x.gt(2), y.lt(10), x.add(y.mul(2)).eq(7)), Or(x.eq(3), x.eq(5)));
console.log(await solver.check(), depth());
const model = solver.model();
console.log(String(model.eval(x.add(y).ge(0))), depth());
solver.add(x.eq(4));
console.log(await solver.check(), depth());
process.exit(0);
