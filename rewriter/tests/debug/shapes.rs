#![no_std]
#[link(wasm_import_module = "env")]
extern "C" {
    fn show(n: i32);
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}

struct Sides<'a>(&'a [i32]);

impl Sides<'_> {
    fn clamped(&self) -> impl Iterator<Item = i32> + '_ {
        self.0.iter().map(|side| (*side).max(1).min(100))
    }

    #[inline(never)]
    fn area(&self) -> i32 {
        self.clamped().map(|side| side.wrapping_mul(side)).fold(0, i32::wrapping_add)
    }
}

#[inline(never)]
fn fib(n: i32) -> i32 {
    if n < 2 {
        return n;
    }
    let before = fib(n - 1);
    let last = fib(n - 2);
    before.wrapping_add(last)
}

#[no_mangle]
pub extern "C" fn run(n: i32) -> i32 {
    let mut sides = [0; 8];
    for (side, i) in sides.iter_mut().zip(0..) {
        *side = n.wrapping_mul(i);
    }
    match n & 3 {
        0 => Sides(&sides).area(),
        1 => {
            unsafe { show(n) };
            fib(n % 10)
        }
        _ => Sides(&sides[..4]).area().wrapping_add(fib(n % 10)),
    }
}
