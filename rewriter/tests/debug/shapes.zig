extern fn show(n: i32) void;
fn clamp(value: i32, low: i32, high: i32) i32 {
    if (value < low) return low;
    return if (value > high) high else value;
}
noinline fn fib(n: i32) i32 {
    if (n < 2) return n;
    return fib(n - 1) + fib(n - 2);
}
export fn run(n: i32) i32 {
    var sum: i32 = 0;
    var i: i32 = 0;
    while (i < n) : (i += 1) {
        sum +%= clamp(fib(i), 1, 50);
        if (sum == 7) show(sum);
    }
    return sum;
}
