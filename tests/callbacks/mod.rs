//! Tests two things: a host that calls back into the guest at every import and catches what fails there, and functions without a
//! probe between functions with one. A call that has ended must not seem to go on. A filter must mean the same when a module is
//! rewritten and when a trace is read.
//!
//! Each module first runs with probes on all functions. A recorder that is stricter than the real ones (see [`record`]) wants
//! an unwinding to be told before the next event. Then the module is rewritten with a filter. It must record the same calls,
//! without those that the filter leaves out, and the same calls must be open each time the host is called. All this is done for
//! imported probes, for the recorder inside, and for the stacks of profiles.
//!
//! The modules are texts in `programs/` (with every third set of their functions left out, or with `KPERF_TESTS=all` every set),
//! modules that `written.rs` writes, and modules from wasm-smith. `KPERF_SEEDS=FROM..TO` makes others. `KPERF_PROGRAM=tail` runs those
//! with that in their names.

mod generated;
mod host;
mod record;
mod run;
mod written;

use crate::common::effort;
use host::Seen;
use kperf_rewriter::{Filter, Leaf, Options, Pattern, Plan, Recording, plan};
use run::{Run, run};
use std::collections::HashSet;
use wasmtime::{Engine, Module};

/// Functions of one module, by their names.
type Functions = HashSet<String>;

const RECORDINGS: [Recording; 5] = [
    Recording::imported(),
    Recording::inline(),
    Recording::inline_with(Leaf::Count),
    Recording::Profile { spans: false },
    Recording::Profile { spans: true },
];

#[test]
fn programs_with_any_functions_left_out() {
    let engine = run::engine();
    let wanted = std::env::var("KPERF_PROGRAM").unwrap_or_default();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/callbacks/programs");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut ran = 0;
    for path in paths.iter().filter(|path| path.to_string_lossy().contains(&wanted)) {
        let wasm = wat::parse_file(path).unwrap();
        for imports in [false, true] {
            let context = format!("{} {}", path.display(), if imports { "--imports" } else { "" });
            let module = Checked::new(&engine, &wasm, imports, 0, &context).expect("a program that ends");
            assert!(module.base.unwound > 0, "{context}: nothing was unwound");
            let names: Vec<&String> = module.names.iter().collect();
            assert!(names.len() <= 8, "{context}: too many functions for all their sets");
            let (first, step) = if effort::is_all() { (1, 1) } else { (1 + usize::from(imports), 3) };
            for set in (first..(1 << names.len()) - 1).step_by(step) {
                let chosen = |(n, name): (usize, &&String)| (set >> n & 1 == 1).then(|| (*name).clone());
                module.compare(&names.iter().enumerate().filter_map(chosen).collect());
                ran += 1;
            }
        }
    }
    assert!(ran > 100 || !wanted.is_empty(), "only {ran} sets of functions");
}

#[test]
fn written_modules_with_some_functions_left_out() {
    let tally =
        by_chance(effort::seeds(100, 300), |seed| Some(wat::parse_str(written::module(seed)).unwrap()));
    let Tally { modules, callbacks, caught, unwound, open } = tally;
    assert!(modules == effort::of(100, 300) && callbacks > effort::of(333, 1_000), "{tally:?}");
    assert!(caught > effort::of(100, 300) && unwound > effort::of(333, 1_000), "{tally:?}");
    assert!(open > effort::of(3_333, 10_000), "{tally:?}");
}

#[test]
fn generated_modules_with_some_functions_left_out() {
    let tally = by_chance(effort::seeds(200, 600), generated::module);
    assert!(tally.modules > effort::of(20, 60) && tally.unwound > effort::of(333, 1_000), "{tally:?}");
}

/// How much was compared.
#[derive(Debug, Default)]
struct Tally {
    modules: u64,
    callbacks: u64,
    caught: u64,
    unwound: u64,
    /// The calls that were open each time the host was called.
    open: u64,
}

fn by_chance(seeds: std::ops::Range<u64>, module: impl Fn(u64) -> Option<Vec<u8>>) -> Tally {
    let engine = run::engine();
    let mut tally = Tally::default();
    for seed in seeds {
        let Some(wasm) = module(seed) else { continue };
        let context = format!("seed {seed}");
        let Some(module) = Checked::new(&engine, &wasm, seed % 2 == 0, seed, &context) else { continue };
        let mut random = fastrand::Rng::with_seed(seed);
        for part in [2, 4] {
            let skipped: Functions =
                module.names.iter().filter(|_| random.u32(..part) == 0).cloned().collect();
            if !skipped.is_empty() && skipped.len() < module.names.len() {
                module.compare(&skipped);
            }
        }
        let Run { seen, unwound, .. } = &module.base;
        tally.modules += 1;
        tally.callbacks += seen.callbacks;
        tally.caught += seen.caught;
        tally.unwound += unwound;
        tally.open += seen.open.iter().map(|open| open.len() as u64).sum::<u64>();
    }
    tally
}

/// A module, and its calls with probes on all functions.
struct Checked<'a> {
    engine: &'a Engine,
    wasm: &'a [u8],
    imports: bool,
    seed: u64,
    context: String,
    names: Vec<String>,
    base: Run,
}

impl<'a> Checked<'a> {
    /// Returns `None` if wasmtime doesn't run the module, or if it exhausts the stack.
    fn new(
        engine: &'a Engine,
        wasm: &'a [u8],
        imports: bool,
        seed: u64,
        context: &str,
    ) -> Option<Checked<'a>> {
        Module::new(engine, wasm).ok()?;
        let options = Options { imports, ..Options::default() };
        let plan: Plan = plan(wasm, &options).unwrap();
        let names: HashSet<String> = plan.probed().map(|(_, f)| f.display_name().to_owned()).collect();
        let mut names: Vec<String> = names.into_iter().collect();
        names.sort();
        let base = run(engine, wasm, &Options { validate: true, ..options }, seed, context)?;
        let module = Checked { engine, wasm, imports, seed, context: context.to_owned(), names, base };
        module.compare(&Functions::new());
        Some(module)
    }

    /// Runs the module with these functions left out, with every form of probe.
    fn compare(&self, skipped: &Functions) {
        let skip = skipped.iter().map(|name| exactly(name));
        let filter = Filter { skip: skip.collect(), ..Filter::default() };
        let expected = self.base.calls.without(skipped);
        let open: Vec<_> = self.base.seen.open.iter().map(|open| record::without(open, skipped)).collect();
        for recording in RECORDINGS {
            let (filter, imports) = (filter.clone(), self.imports);
            let options = Options { recording, filter, imports, validate: true, ..Options::default() };
            let context = format!("{} {recording:?} without {skipped:?}", self.context);
            let Some(run) = run(self.engine, self.wasm, &options, self.seed, &context) else { continue };
            assert_eq!(self.base.outcomes, run.outcomes, "{context}");
            match recording {
                Recording::Profile { .. } => assert_same(&open, &run.seen.open, &context, "open calls"),
                _ => assert_same(&expected.lines(), &run.calls.lines(), &context, "calls"),
            }
            if recording.is_imported() {
                assert_same(&open, &run.seen.open, &context, "open calls");
            }
            let Seen { callbacks, .. } = run.seen;
            assert_eq!(self.base.seen.callbacks, callbacks, "{context}");
        }
    }
}

fn exactly(name: &str) -> Pattern {
    let escaped: String = name.chars().map(|char| format!("\\x{{{:x}}}", u32::from(char))).collect();
    Pattern::regex(&format!("^{escaped}$")).unwrap()
}

/// Prints the first place where two lists differ.
fn assert_same<T: PartialEq + std::fmt::Debug>(expected: &[T], actual: &[T], context: &str, what: &str) {
    let differs = expected.iter().zip(actual).position(|(a, b)| a != b);
    let at = differs.unwrap_or(expected.len().min(actual.len()));
    let around = at.saturating_sub(6)..;
    let part = |list: &[T]| {
        list.get(around.clone())
            .unwrap_or_default()
            .iter()
            .take(12)
            .map(|x| format!("{x:?}\n"))
            .collect::<String>()
    };
    assert!(
        differs.is_none() && expected.len() == actual.len(),
        "{context}: {what} differ at {at} of {} and {}\nexpected\n{}got\n{}",
        expected.len(),
        actual.len(),
        part(expected),
        part(actual)
    );
}
