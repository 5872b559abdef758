declare function show(n: i32): void;

@inline
function clamped(value: i32, low: i32, high: i32): i32 {
  if (value < low) return low;
  return value > high ? high : value;
}

function fib(n: i32): i32 {
  if (n < 2) return n;
  const before = fib(n - 1);
  const last = fib(n - 2);
  return before + last;
}

export function run(n: i32): i32 {
  let sum: i32 = 0;
  for (let i = 0; i < n; i++) {
    sum += clamped(fib(i), 1, 50);
    if (sum == 7) show(sum);
  }
  return sum;
}
