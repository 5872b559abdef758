//! Rewrites invalid modules, and nearly invalid ones: real ones with bytes changed, and generated ones with invalid
//! bodies. A valid module stays valid, an invalid one invalid, whatever the probes are, and nothing panics.
//! `KPERF_SEEDS=FROM..TO` runs others.

mod check;
#[path = "../../../tests/common/effort.rs"]
mod effort;

use check::{FORMS, Outcome, check};
use std::collections::HashMap;
use std::path::Path;

/// Small real modules of compilers, with all kinds of exceptions and garbage-collected types.
fn real() -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let files = [
        "examples/game-of-life/assemblyscript/life.wasm",
        "examples/game-of-life/kotlin/life.wasm",
        "examples/game-of-life/rust/life.wasm",
        "examples/game-of-life/wat/life.wasm",
        "tests/conformance/unwinding/cpp-exnref.wasm",
        "tests/conformance/unwinding/cpp-js.wasm",
        "tests/conformance/unwinding/cpp-legacy.wasm",
        "tests/conformance/unwinding/kotlin-exnref.wasm",
    ];
    files.iter().map(|file| std::fs::read(root.join(file)).unwrap()).collect()
}

#[test]
fn real_modules_with_any_probes() {
    for wasm in real() {
        for n in 0..FORMS {
            assert_eq!(check(&wasm, n), Outcome::Rewritten);
        }
    }
}

#[test]
fn real_modules_with_bytes_changed() {
    let real = real();
    let mut outcomes = HashMap::new();
    for seed in effort::seeds(4_000, 12_000) {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut wasm = real[random.usize(..real.len())].clone();
        for _ in 0..random.usize(1..4) {
            let at = random.usize(8..wasm.len());
            match random.u8(..4) {
                0 => wasm[at] = random.u8(..),
                1 => wasm[at] = wasm[at].wrapping_add(1),
                2 => wasm[at] ^= 1 << random.u8(..8),
                _ => wasm[at] = wasm[random.usize(8..wasm.len())],
            }
        }
        let outcome = catch(seed, || check(&wasm, seed as usize));
        *outcomes.entry(outcome).or_insert(0) += 1;
    }
    // So that all ways are gone.
    println!("{outcomes:?}");
    for outcome in [Outcome::Rewritten, Outcome::InvalidRefused, Outcome::InvalidRewritten] {
        assert!(outcomes.get(&outcome).is_some_and(|&count| count > 100), "{outcomes:?}");
    }
}

#[test]
fn generated_modules_with_invalid_bodies() {
    let mut outcomes = HashMap::new();
    for seed in effort::seeds(3_000, 8_000) {
        let bit = |n: u32| seed >> n & 1 == 1;
        let config = wasm_smith::Config {
            acquire_release_atomics_enabled: bit(10),
            allow_invalid_funcs: bit(11),
            bulk_memory_enabled: true,
            compact_imports_enabled: bit(12),
            custom_descriptors_enabled: bit(3) && bit(10),
            custom_page_sizes_enabled: bit(0),
            exceptions_enabled: bit(1),
            extended_const_enabled: bit(2),
            gc_enabled: bit(3),
            generate_custom_sections: bit(11),
            memory64_enabled: bit(4),
            multi_value_enabled: true,
            multibyte_array_access_enabled: bit(3) && bit(12),
            reference_types_enabled: true,
            relaxed_simd_enabled: bit(5),
            saturating_float_to_int_enabled: true,
            shared_everything_threads_enabled: bit(3) && bit(7),
            sign_extension_ops_enabled: true,
            simd_enabled: bit(5),
            tail_call_enabled: bit(6),
            threads_enabled: bit(7),
            wide_arithmetic_enabled: bit(8),
            max_imports: 10,
            max_memories: 3,
            max_tables: 4,
            ..wasm_smith::Config::default()
        };
        let bytes = noise(seed, 4096);
        let mut source = arbitrary::Unstructured::new(&bytes);
        let Ok(module) = wasm_smith::Module::new(config, &mut source) else { continue };
        let outcome = catch(seed, || check(&module.to_bytes(), seed as usize));
        *outcomes.entry(outcome).or_insert(0) += 1;
    }
    println!("{outcomes:?}");
    for outcome in [Outcome::Rewritten, Outcome::InvalidRefused] {
        assert!(outcomes.get(&outcome).is_some_and(|&count| count > 100), "{outcomes:?}");
    }
}

/// Prints the seed.
fn catch(seed: u64, work: impl FnOnce() -> Outcome + std::panic::UnwindSafe) -> Outcome {
    std::panic::catch_unwind(work).unwrap_or_else(|_| panic!("seed {seed}"))
}

/// Bytes that look random and are the same each time.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    fastrand::Rng::with_seed(seed).fill(&mut bytes);
    bytes
}
