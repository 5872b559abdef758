//! Adds probes to the modules that pages hand over, once for each module.

use crate::output::tell;
use crate::probes;
use bytes::Bytes;
use kperf_rewriter::{Error, ErrorKind, Filter, Options, Probe, Rewritten, stands_alone};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// The modules that pages have handed over.
pub struct Modules {
    options: Options,
    /// The options with the recorder inside, for modules and pages that can have that. The others get `options`.
    inline: Option<Options>,
    /// Functions of allocators that were named, and that no module had so far; `None` before the first module.
    missing: Mutex<Option<Vec<String>>>,
    /// Few, and most differ in more than their bytes: looking through them is faster than a hash of megabytes.
    known: Mutex<VecDeque<(Module, Outcome)>>,
}

/// A module as a page hands it over.
#[derive(PartialEq, Eq)]
pub struct Module {
    /// What it is called if it doesn't say its name.
    pub name: String,
    /// Its first function id: the modules of a page share a trace.
    pub id_base: u32,
    /// Whether the page can have a recorder inside of modules.
    pub inline: bool,
    /// Its bytes.
    pub wasm: Bytes,
}

/// What became of a module.
#[derive(Clone)]
pub enum Outcome {
    /// Its bytes with probes.
    Probed(Bytes),
    /// The filters leave none of its functions.
    AsItIs,
    /// Why it can't have probes.
    Refused(String),
}

impl Outcome {
    /// How many bytes it takes, about.
    fn bytes(&self) -> usize {
        match self {
            Outcome::Probed(wasm) => wasm.len(),
            Outcome::AsItIs | Outcome::Refused(_) => 0,
        }
    }
}

/// So many modules are remembered: an app's, for its pages and workers.
const REMEMBERED: usize = 64;
/// And so many bytes of them, with and without probes.
const REMEMBERED_BYTES: usize = 256 << 20;

impl Modules {
    /// Starts without modules. Each one will get probes by `options` or `inline`, with its own name and ids.
    pub fn new(options: Options, inline: Option<Options>) -> Modules {
        Modules { options, inline, missing: Mutex::default(), known: Mutex::default() }
    }

    /// Functions of allocators that were named, `malloc=my_alloc`, and that no module had.
    pub fn missing(&self) -> Vec<String> {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner).clone().unwrap_or_default()
    }

    /// The module with probes. Blocks while it is rewritten.
    pub fn probed(&self, module: Module) -> Outcome {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, outcome)) = known().iter().find(|(other, _)| *other == module) {
            return outcome.clone();
        }
        let outcome = self.rewrite(&module);
        let mut known = known();
        known.push_front((module, outcome.clone()));
        let mut bytes = 0;
        let most = known.iter().take(REMEMBERED).take_while(|(module, outcome)| {
            bytes += module.wasm.len() + outcome.bytes();
            bytes <= REMEMBERED_BYTES
        });
        let most = most.count().max(1);
        known.truncate(most);
        outcome
    }

    fn rewrite(&self, Module { name, id_base, inline, wasm }: &Module) -> Outcome {
        if matches!(self.options.probe, Probe::Profile { .. }) && !inline {
            return Outcome::Refused("a profile needs a page that is cross-origin isolated".to_owned());
        }
        let with = |options: &Options| {
            let options = Options { id_base: *id_base, module_name: name.clone(), ..options.clone() };
            rewrite_one_of_several(wasm, options)
        };
        let begun = Instant::now();
        // A module without room for a recorder gets imported probes.
        let inside = self.inline.as_ref().filter(|_| *inline && stands_alone(wasm));
        let rewritten = inside.and_then(|options| with(options).ok());
        match rewritten.map_or_else(|| with(&self.options), Ok) {
            // The filters are meant for other modules of the app.
            Ok(None) => Outcome::AsItIs,
            Ok(Some((rewritten, probe))) => {
                let (probed, all) = (rewritten.symbols.symbols.len(), rewritten.plan.functions.len());
                let (before, after) = (wasm.len(), rewritten.wasm.len());
                tell(format_args!(
                    "{}: {probed} of {all} functions probed{}, {before} -> {after} bytes, {:.0?}",
                    kperf_profile::printable(name),
                    if probe == Probe::Inline { " (inline)" } else { "" },
                    begun.elapsed()
                ));
                probes::tell_warnings(&rewritten.warnings);
                if let Some(allocations) = &rewritten.symbols.module.allocations {
                    let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
                    let before = missing.get_or_insert_with(|| allocations.missing.clone());
                    before.retain(|name| allocations.missing.contains(name));
                }
                Outcome::Probed(rewritten.wasm.into())
            }
            Err(error) => {
                let reason = format!("{:#}", anyhow::Error::from(error));
                tell(format_args!("{}: runs without probes: {reason}", kperf_profile::printable(name)));
                Outcome::Refused(reason)
            }
        }
    }
}

/// Puts probes into a module of an app that may have others: a pattern that matches nothing here may be meant for these. `None` if the
/// filters leave nothing.
fn rewrite_one_of_several(wasm: &[u8], mut options: Options) -> Result<Option<(Rewritten, Probe)>, Error> {
    let chooses = !options.filter.only.is_empty();
    loop {
        match kperf_rewriter::rewrite(wasm, &options) {
            Ok(rewritten) if rewritten.symbols.symbols.is_empty() => return Ok(None),
            Ok(rewritten) => return Ok(Some((rewritten, options.probe))),
            Err(error) => match error.kind() {
                ErrorKind::PatternMatchesNothing { pattern, .. } => {
                    let Filter { only, skip } = &mut options.filter;
                    for patterns in [&mut *only, skip] {
                        patterns.retain(|other| other.as_str() != pattern);
                    }
                    if chooses && only.is_empty() {
                        return Ok(None);
                    }
                }
                ErrorKind::NothingMatched { .. } => return Ok(None),
                _ => return Err(error),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use kperf_rewriter::{AllocationOptions, Pattern};

    fn probed(only: &[&str], skip: &[&str], text: &str) -> Outcome {
        let patterns = |texts: &[&str]| texts.iter().map(|text| Pattern::parse(text).unwrap()).collect();
        let filter = Filter { only: patterns(only), skip: patterns(skip) };
        let modules = Modules::new(Options { filter, ..Options::default() }, None);
        let wasm = wat::parse_str(text).unwrap().into();
        modules.probed(Module { name: "m".into(), id_base: 7, inline: true, wasm })
    }

    #[test]
    fn an_allocator_is_in_one_of_several_modules() {
        let told =
            [("malloc", "take"), ("free", "give")].map(|(role, name)| (role.to_owned(), name.to_owned()));
        let allocations = AllocationOptions { told: told.into(), several: true, sample: 0 };
        let options = Options { allocations: Some(allocations), ..Options::default() };
        let modules = Modules::new(options, None);
        let probed = |text: &str| {
            let wasm = wat::parse_str(text).unwrap().into();
            let outcome = modules.probed(Module { name: "m".into(), id_base: 0, inline: false, wasm });
            assert!(matches!(outcome, Outcome::Probed(_)));
        };
        assert!(modules.missing().is_empty());
        probed("(module (func $other))");
        assert_eq!(modules.missing(), ["malloc=take", "free=give"]);
        probed("(module (memory 1) (func $take (param i32) (result i32) (local.get 0)))");
        probed("(module (func $more))");
        assert_eq!(modules.missing(), ["free=give"]);
    }

    #[test]
    fn patterns_may_be_meant_for_other_modules() {
        const MODULE: &str = "(module (func $alloc) (func $run (call $alloc)))";
        let ids = |outcome| match outcome {
            Outcome::Probed(wasm) => {
                let table = kperf_rewriter::probed(&wasm).unwrap().unwrap();
                Some((table.id_base, table.symbols.len()))
            }
            Outcome::AsItIs => None,
            Outcome::Refused(reason) => panic!("{reason}"),
        };
        assert_eq!(ids(probed(&[], &[], MODULE)), Some((7, 2)));
        assert_eq!(ids(probed(&["run", "elsewhere"], &["fmt*"], MODULE)), Some((7, 1)));
        assert_eq!(ids(probed(&["elsewhere"], &[], MODULE)), None);
        assert_eq!(ids(probed(&[], &["*"], MODULE)), None);
        assert!(matches!(
            probed(&[], &[], "(module (import \"kperf\" \"enter\" (func)))"),
            Outcome::Refused(_)
        ));
    }
}
