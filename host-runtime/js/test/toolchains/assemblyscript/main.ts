// Calls JavaScript, and is called back by it.
@external("env", "twice")
declare function twice(n: i32): i32;

export function fib(n: i32): i32 {
  return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

export function run(n: i32): string {
  return "assemblyscript: " + twice(fib(n)).toString();
}
