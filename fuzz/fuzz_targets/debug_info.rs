//! Sections of DWARF, each behind its length: they cost places of functions and a warning, and nothing else.

#![no_main]

#[path = "../../rewriter/tests/custom/check.rs"]
#[allow(dead_code)]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check::check_debug_info(bytes);
});
