//! The function that MooBench measures: it calls itself, and does nothing else. `fib` is a second one, which calls itself twice.
#![no_std]

use core::hint::black_box;

/// Calls itself until `depth` such calls are open. Not by a tail call, nor with a result that could be accumulated: the
/// compiler would make a loop of it.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn monitored(depth: u32) -> u32 {
    if depth > 1 { monitored(depth - 1).rotate_left(1) ^ depth } else { depth }
}

/// The `n`-th Fibonacci number, its lower half; `2 * fib(n + 1) - 1` calls. (Without the mask the compiler would make a loop
/// of the second one.)
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn fib(n: u32) -> u32 {
    if n < 2 { n } else { fib(n - 1).wrapping_add(fib(n - 2)) & 0xffff }
}

/// Calls `monitored` so often, and adds up what it answers.
#[unsafe(no_mangle)]
pub extern "C" fn run(calls: u32, depth: u32) -> u32 {
    // Unseen, or it would be called once.
    (0..calls).fold(0, |sum: u32, _| sum.wrapping_add(monitored(black_box(depth))))
}

/// Calls `fib` so often, and adds up what it answers.
#[unsafe(no_mangle)]
pub extern "C" fn run_fib(calls: u32, n: u32) -> u32 {
    (0..calls).fold(0, |sum: u32, _| sum.wrapping_add(fib(black_box(n))))
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}
