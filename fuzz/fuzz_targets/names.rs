//! Names of functions, one a line: they are demangled in bounded time, into bounded text.

#![no_main]

#[path = "../../rewriter/tests/custom/check.rs"]
#[allow(dead_code)]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check::check_names(bytes);
});
