//! Generated modules: the rewritten one does as the original, and its events balance.

#![no_main]

#[path = "../../tests/differential/compare.rs"]
mod compare;
#[path = "../../tests/differential/shape.rs"]
mod shape;
#[path = "../../tests/differential/side.rs"]
mod side;

use kperf_rewriter::Recording;
use std::sync::LazyLock;
use wasmtime::Engine;

static ENGINE: LazyLock<Engine> = LazyLock::new(side::engine);

libfuzzer_sys::fuzz_target!(|input: (u64, &[u8])| {
    let (shape, bytes) = input;
    if let Some(wasm) = shape::generate(shape, bytes) {
        let recording = if shape.is_multiple_of(3) { Recording::inline() } else { Recording::imported() };
        compare::compare(&ENGINE, &wasm, recording, shape.is_multiple_of(2));
    }
});
