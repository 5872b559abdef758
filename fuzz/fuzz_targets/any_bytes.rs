//! Any bytes: the rewriter doesn't panic, a valid module stays valid, an invalid one invalid, whatever the probes are.

#![no_main]

#[path = "../../rewriter/tests/invalid/check.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for form in 0..check::FORMS {
        check::check(bytes, form);
    }
});
