//! Constant "random" numbers for hash tables, whose keys are not hostile here.

#![allow(unsafe_code, reason = "the function's name is the one by which `getrandom` looks for it")]

use getrandom::Error;

#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_v03_custom(to: *mut u8, length: usize) -> Result<(), Error> {
    for n in 0..length {
        // SAFETY: the caller owns `length` bytes there.
        unsafe { to.add(n).write((n as u8).wrapping_mul(151).wrapping_add(43)) };
    }
    Ok(())
}
