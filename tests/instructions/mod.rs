//! The count of executed instructions is exact: equal to one that counts before every single operator, and to what an interpreter
//! counts. `KPERF_SEEDS=FROM..TO` counts other modules.

mod guest;
mod interpreter;
mod programs;
mod reference;

use crate::common::effort;
use crate::differential::shape;
use guest::{Guest, Outcome};
use kperf_abi::names::{STATE_INSTRUCTIONS, exported};
use kperf_rewriter::{Allocations, Clock, Imported, Inline, Leaf, Options, Recording, Rewritten, rewrite};
use reference::COUNT;

/// How much was compared.
#[derive(Debug, Default)]
struct Tally {
    returned: u64,
    trapped: u64,
    instructions: u64,
}

/// Where the count is: in the module, or beside it.
const FORMS: [Recording; 2] = [
    Recording::Inline(Inline { clock: Clock::Instructions, leaf: Leaf::Time, allocations: Allocations::Off }),
    Recording::Imported(Imported { clock: Clock::Instructions, allocations: false }),
];

/// The module with a count of its instructions.
fn counted(wasm: &[u8], recording: Recording) -> Rewritten {
    let options = Options { recording, validate: true, ..Options::default() };
    rewrite(wasm, &options).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_count_is_that_of_every_single_operator() {
    let engine = guest::engine();
    let tally = over_seeds(|wasm, tally| {
        for recording in FORMS {
            let expected = Guest::new(&engine, &reference::count_each(wasm));
            let actual = Guest::new(&engine, &counted(wasm, recording).wasm);
            compare(expected, actual, COUNT, tally);
        }
    });
    assert!(tally.returned > effort::of(180, 600) && tally.trapped > effort::of(180, 600), "{tally:?}");
    assert!(tally.instructions > effort::of(30_000, 100_000), "{tally:?}");
}

#[test]
fn programs_with_exceptions_tail_calls_and_tables_are_counted_to_the_instruction() {
    let engine = guest::engine();
    for (name, wasm) in programs::all() {
        let mut tally = Tally::default();
        for recording in FORMS {
            let expected = Guest::new(&engine, &reference::count_each(&wasm));
            let actual = Guest::new(&engine, &counted(&wasm, recording).wasm);
            compare(expected, actual, COUNT, &mut tally);
        }
        assert!(tally.returned + tally.trapped > 0, "{name}");
    }
}

fn over_seeds(mut run: impl FnMut(&[u8], &mut Tally)) -> Tally {
    let mut tally = Tally::default();
    for seed in effort::seeds(300, 1_000) {
        let mut noise = vec![0; 8_000];
        fastrand::Rng::with_seed(seed).fill(&mut noise);
        let Some(wasm) = shape::generate(seed, &noise) else { continue };
        let work = std::panic::AssertUnwindSafe(|| run(&wasm, &mut tally));
        std::panic::catch_unwind(work).unwrap_or_else(|_| panic!("seed {seed}"));
    }
    tally
}

/// Calls all exports of both. `name` is what the expected count is exported as.
fn compare(expected: Option<Guest>, actual: Option<Guest>, name: &str, tally: &mut Tally) {
    let (Some(mut expected), Some(mut actual)) = (expected, actual) else { return };
    let own = exported(STATE_INSTRUCTIONS);
    let (mut expected_before, mut actual_before) = (expected.count(name), actual.count(&own));
    // What the start function has executed.
    assert_eq!(expected_before, actual_before);
    for export in expected.functions() {
        let (Some(outcome), Some(same)) = (expected.call(&export), actual.call(&export)) else { continue };
        if outcome == Outcome::Overflowed || same == Outcome::Overflowed {
            return;
        }
        assert_eq!(outcome, same, "{export}");
        let (expected_now, actual_now) = (expected.count(name), actual.count(&own));
        let (wanted, found) = (expected_now - expected_before, actual_now - actual_before);
        (expected_before, actual_before) = (expected_now, actual_now);
        match outcome {
            Outcome::Returned => {
                assert_eq!(wanted, found, "{export}");
                tally.returned += 1;
            }
            Outcome::Left => {
                assert_eq!(wanted, found, "{export} was left");
                tally.trapped += 1;
            }
            _ => {
                assert!(found >= wanted, "{export}: {wanted} instructions, {found} counted");
                tally.trapped += 1;
            }
        }
        tally.instructions += found;
    }
}
