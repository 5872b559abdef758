// package: sh-syntax
// toolchain: TinyGo
// covers: an instance for each call, left by an exception
// expect: left varies
import { print } from 'sh-syntax';
import { close, depth } from './depth.mjs';

for (const source of ["if [ a = b ];then echo  'c'   |  d;fi", 'for i in 1 2;do\n echo $((i+1)) ;done', 'f() { <<E\n$(x)\nE\n}', 'if x; then']) {
  // Each call is a program of its own, which leaves the guest by an exception when it exits.
  const text = await print(source).catch((error) => error.message);
  close();
  console.log(text, depth());
}
process.exit(0);
