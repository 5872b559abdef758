//! Names of functions, one a line: they are demangled in bounded time, into bounded text.

#![no_main]

#[path = "../../rewriter/tests/custom/check.rs"]
#[allow(dead_code)]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let began = std::time::Instant::now();
    check::check_names(bytes);
    // The names of one input; a second for all else, as other programs run too.
    let names = bytes.split(|&byte| byte == b'\n').count().min(1_000) as u32;
    assert!(began.elapsed() < std::time::Duration::from_millis(50) * names + std::time::Duration::from_secs(1));
});
