//! Rewrites a module that a program loads. Filters are for all modules of the program, so a pattern without a match is a warning.

use crate::error::Error;
use crate::options::{Options, ProbeChoice, RecorderPlace};
use kperf_rewriter::{ErrorKind, Filter, Recording, Rewritten, Warning, stands_alone};
use serde::Serialize;

/// The result of rewriting.
pub enum Outcome {
    /// The module with probes.
    Probed(Vec<u8>, Summary),
    /// The module stays as it is: it has probes already, or the filters select none of its functions.
    Untouched,
}

/// A rewritten module's statistics.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// The number of functions, including imports.
    pub functions: usize,
    /// The number of functions with a probe.
    pub probed: usize,
    /// Whether probes are inlined.
    pub inline: bool,
    /// The end of its ids.
    pub id_end: u32,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// Puts probes into a module.
pub fn rewrite(wasm: &[u8], options: &Options) -> Result<Outcome, Error> {
    if kperf_rewriter::probed(wasm)?.is_some() {
        return Ok(Outcome::Untouched);
    }
    let with = |place| rewrite_as(wasm, options, options.recording(place)?);
    match options.probe {
        ProbeChoice::Import => with(RecorderPlace::Imported),
        ProbeChoice::Inline => with(RecorderPlace::Inline),
        ProbeChoice::Profile => with(RecorderPlace::Profile { spans: true }),
        ProbeChoice::ProfileWithoutSpans => with(RecorderPlace::Profile { spans: false }),
        ProbeChoice::Auto if stands_alone(wasm) => match with(RecorderPlace::Inline) {
            // It may have no room for a recorder.
            Err(_) => with(RecorderPlace::Imported),
            outcome => outcome,
        },
        ProbeChoice::Auto => with(RecorderPlace::Imported),
    }
}

fn rewrite_as(wasm: &[u8], options: &Options, recording: Recording) -> Result<Outcome, Error> {
    let mut filter = options.filter()?;
    let host = options.host()?;
    let chooses_some = !filter.only.is_empty();
    let mut unmatched = Vec::new();
    loop {
        // Patterns that match nothing here may be meant for other modules.
        if chooses_some && filter.only.is_empty() {
            return Ok(Outcome::Untouched);
        }
        match kperf_rewriter::rewrite(wasm, &options.with(recording, filter.clone(), host.clone())) {
            Ok(Rewritten { symbols, .. }) if symbols.symbols.is_empty() => return Ok(Outcome::Untouched),
            Ok(Rewritten { wasm, symbols, plan, warnings, .. }) => {
                let summary = Summary {
                    functions: plan.functions.len(),
                    probed: symbols.symbols.len(),
                    inline: !recording.is_imported(),
                    id_end: symbols.id_end(),
                    warnings: unmatched
                        .into_iter()
                        .chain(warnings.iter().filter(is_of_module).map(ToString::to_string))
                        .collect(),
                };
                return Ok(Outcome::Probed(wasm, summary));
            }
            Err(error) => match error.kind() {
                ErrorKind::PatternMatchesNothing { pattern, .. } => {
                    leave_out(&mut filter, pattern);
                    unmatched.push(error.to_string());
                }
                ErrorKind::NothingMatched { .. } => return Ok(Outcome::Untouched),
                _ => return Err(error.into()),
            },
        }
    }
}

/// A plan is for all modules of a program, so it may name functions that this one hasn't.
fn is_of_module(warning: &&Warning) -> bool {
    !matches!(warning, Warning::OtherPlan { .. })
}

fn leave_out(filter: &mut Filter, text: &str) {
    for patterns in [&mut filter.only, &mut filter.skip] {
        patterns.retain(|pattern| pattern.as_str() != text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of the functions that get a probe.
    fn probed(text: &str, options: Options) -> Option<Vec<String>> {
        let wasm = wat::parse_str(text).expect("a module");
        match rewrite(&wasm, &options).expect("it can be rewritten") {
            Outcome::Untouched => None,
            Outcome::Probed(wasm, _) => {
                let table = kperf_rewriter::probed(&wasm).expect("a module").expect("it has probes");
                Some(table.symbols.iter().map(|symbol| symbol.name.to_string()).collect())
            }
        }
    }

    const MODULE: &str = r#"(module (func $alloc) (func $run (call $alloc)))"#;

    fn choosing(only: &[&str], skip: &[&str]) -> Options {
        let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        Options { only: texts(only), skip: texts(skip), ..Options::default() }
    }

    #[test]
    fn patterns_may_be_meant_for_other_modules() {
        assert_eq!(probed(MODULE, choosing(&[], &["fmt*", "alloc"])), Some(vec!["run".to_owned()]));
        assert_eq!(probed(MODULE, choosing(&["run", "elsewhere"], &[])), Some(vec!["run".to_owned()]));
        assert_eq!(probed(MODULE, choosing(&["elsewhere"], &[])), None);
        assert_eq!(probed(MODULE, choosing(&[], &["*"])), None);
        assert_eq!(probed("(module)", Options::default()), None);
    }

    #[test]
    fn patterns_without_a_match_are_warnings() {
        let wasm = wat::parse_str(MODULE).expect("a module");
        let Ok(Outcome::Probed(_, summary)) = rewrite(&wasm, &choosing(&["run", "all"], &["fmt*"])) else {
            panic!("it gets probes")
        };
        let hint = "no function's name matches `all`; did you mean `*all*`?";
        assert_eq!(summary.warnings, [hint, "no function's name matches `fmt*`"]);
    }

    #[test]
    fn a_host_that_never_calls_back_needs_no_unwind() {
        let text = r#"(module (import "env" "f" (func $f)) (func (export "g") (call $f)))"#;
        let unwinds = |no_callbacks: &[&str]| {
            let no_callbacks = no_callbacks.iter().map(|&text| text.to_owned()).collect();
            let options = Options { no_callbacks, probe: ProbeChoice::Import, ..Options::default() };
            match rewrite(&wat::parse_str(text).expect("a module"), &options).expect("it can be rewritten") {
                Outcome::Probed(wasm, _) => wasm.windows(6).any(|bytes| bytes == b"unwind"),
                Outcome::Untouched => panic!("it gets probes"),
            }
        };
        assert!(unwinds(&[]) && unwinds(&["other"]) && !unwinds(&["env"]) && !unwinds(&["*"]));
    }

    #[test]
    fn a_bad_pattern_is_an_error() {
        let wasm = wat::parse_str(MODULE).expect("a module");
        assert!(rewrite(&wasm, &choosing(&["a[b"], &[])).is_err());
    }

    #[test]
    fn an_allocator_may_be_in_another_module() {
        let named = |named: &[&str]| Options {
            allocations: Some(0),
            allocator: named.iter().map(|&name| name.to_owned()).collect(),
            ..Options::default()
        };
        let missing = |text: &str, options: &Options| match rewrite(
            &wat::parse_str(text).expect("a module"),
            options,
        ) {
            Ok(Outcome::Probed(wasm, _)) => {
                let table = kperf_rewriter::probed(&wasm).expect("a module").expect("it has probes");
                Ok(table.module.allocations.expect("they are recorded").missing)
            }
            Ok(Outcome::Untouched) => panic!("it gets probes"),
            Err(error) => Err(error.to_string()),
        };
        const POOL: &str = "(module (memory 1) (func $take (param i32) (result i32) (local.get 0)))";
        let options = named(&["malloc=take", "free=give"]);
        assert_eq!(missing(POOL, &options), Ok(vec!["free=give".to_owned()]));
        assert_eq!(missing(MODULE, &options), Ok(vec!["malloc=take".to_owned(), "free=give".to_owned()]));
        // A function with other parameters belongs to another module, with a warning.
        let options = named(&["calloc=take"]);
        assert_eq!(missing(POOL, &options), Ok(vec!["calloc=take".to_owned()]));
        let warnings = match rewrite(&wat::parse_str(POOL).expect("a module"), &options) {
            Ok(Outcome::Probed(_, summary)) => summary.warnings,
            _ => panic!("it gets probes"),
        };
        let why = "its parameters and results are not those of a `calloc`";
        assert_eq!(warnings, [format!("`calloc=take` is no allocator here: {why}")]);
        let options = named(&["malloc=take", "free=give"]);
        assert!(named(&["pool=take"]).check().is_err() && options.check().is_ok());
    }

    #[test]
    fn what_is_linked_or_starts_by_itself_gets_imported_probes() {
        let inline = |text: &str| match rewrite(&wat::parse_str(text).expect("a module"), &Options::default())
        {
            Ok(Outcome::Probed(_, summary)) => summary.inline,
            _ => panic!("it gets probes"),
        };
        assert!(inline(MODULE));
        assert!(!inline("(module (func $main) (start $main))"));
        assert!(!inline(r#"(module (@custom "dylink.0" (before first) "") (func $side))"#));
    }

    #[test]
    fn a_module_that_has_probes_stays_as_it_is() {
        let wasm = wat::parse_str(MODULE).expect("a module");
        let Ok(Outcome::Probed(wasm, _)) = rewrite(&wasm, &Options::default()) else {
            panic!("it gets probes")
        };
        assert!(matches!(rewrite(&wasm, &Options::default()), Ok(Outcome::Untouched)));
    }
}
