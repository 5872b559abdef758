//! Chunks of a trace with the right checksums: every report and export of it comes to an end.

#![no_main]

#[path = "../../host-runtime/export/tests/export/damaged/check.rs"]
#[allow(dead_code)]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check::check(&check::trace(bytes));
});
