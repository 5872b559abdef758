//! Any bytes: the rewriter doesn't panic, a valid module stays valid, an invalid one invalid.

#![no_main]

#[path = "../../rewriter/tests/invalid/check.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for imports in [false, true] {
        check::check(bytes, imports);
    }
});
