//! Original and rewritten modules must do the same: results, traps, memories, globals, tables. Events must balance: after every call
//! of the host the depth is 0 again. `KPERF_SEEDS=FROM..TO` runs other modules. The fuzz target `behaviour` looks for modules for which
//! this doesn't hold.

pub(crate) mod argument;
mod compare;
pub(crate) mod shape;
mod side;

use crate::common::effort;
use compare::{Tally, compare};
use kperf_rewriter::{Options, Recording, rewrite};
use kperf_wasmtime::HAS_NATIVE_STACKS;

#[test]
fn original_and_rewritten_agree() {
    let compared = agree(Recording::imported());
    assert!(compared.unwound > 0, "{compared:?}");
}

#[test]
fn original_and_rewritten_with_a_recorder_inside_agree() {
    agree(Recording::inline());
}

#[test]
fn original_and_rewritten_with_a_profile_s_recorder_agree() {
    agree(Recording::Profile { spans: false });
    agree(Recording::Profile { spans: true });
    if HAS_NATIVE_STACKS {
        agree(Recording::Count);
        agree(Recording::Sample);
    }
}

fn agree(recording: Recording) -> Tally {
    let engine = side::engine();
    let mut compared = Tally::default();
    for seed in effort::seeds(1_000, 4_000) {
        let Some(wasm) = shape::generate(seed, &noise(seed, 8_000)) else { continue };
        let work =
            std::panic::AssertUnwindSafe(|| compare(&engine, &wasm, recording, seed.is_multiple_of(2)));
        let one = std::panic::catch_unwind(work).unwrap_or_else(|_| panic!("seed {seed}"));
        compared.calls += one.calls;
        compared.returned += one.returned;
        compared.trapped += one.trapped;
        compared.events += one.events;
        compared.unwound += one.unwound;
    }
    // What was compared, so that a generator that only makes dead modules doesn't pass for a test.
    let Tally { calls, returned, trapped, events, .. } = compared;
    assert!(calls > effort::of(250, 1_000) && returned > effort::of(75, 300), "{compared:?}");
    // A module for samples counts nothing.
    let least = if recording == Recording::Sample { -1 } else { effort::of(2_500, 10_000) as i64 };
    assert!(trapped > effort::of(250, 1_000) && events as i64 > least, "{compared:?}");
    compared
}

#[test]
fn a_rewritten_module_is_not_rewritten_again() {
    let wasm = wat::parse_str("(module (func (export \"f\")))").unwrap();
    let once = rewrite(&wasm, &Options::default()).unwrap().wasm;
    let error = rewrite(&once, &Options::default()).unwrap_err().to_string();
    assert_eq!(error, "the module already has probes (a section `kperf.symbols`); rewrite the original");
}

/// Bytes that look random and are the same each time.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    fastrand::Rng::with_seed(seed).fill(&mut bytes);
    bytes
}
