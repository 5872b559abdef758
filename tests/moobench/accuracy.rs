//! Is the profile of a published program true? Which function had what part of the guest's time, by a profile, and by a native
//! sampler of the program without probes.

use crate::guest::{self, Guest};
use crate::real::{self, Program};
use crate::sampler::Sampler;
use crate::workload::Workload;
use anyhow::{Context, ensure};
use kperf_abi::{FuncId, SymbolTable, names};
use kperf_profile::{FlatProfile, Profile};
use kperf_rewriter::{Filter, Options, Pattern, Probe, rewrite};
use kperf_trace::TraceReader;
use kperf_wasmtime::Recorder;
use std::collections::BTreeMap;
use std::path::Path;
use wasmtime::{Engine, Module};

/// What both said of a program.
#[derive(Debug)]
pub(crate) struct Accuracy {
    pub(crate) program: Program,
    /// Functions by their share of self time, the largest first.
    pub(crate) functions: Vec<Function>,
    /// How many samples of the sampler hit the guest, and how many those of the profile are worth.
    pub(crate) samples: [f64; 2],
}

#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// Of self time in the guest: by the sampler, by the profile.
    pub(crate) shares: [f64; 2],
}

/// How many functions of each program are told one by one.
const TOLD: usize = 5;

/// What was seen so far, by the index of the function.
type Times = BTreeMap<u32, f64>;

/// Runs a program under both, in turn.
pub(crate) fn measure(root: &Path, program: Program, rounds: usize) -> anyhow::Result<Accuracy> {
    let engine = guest::engine()?;
    let wasm = std::fs::read(Workload::Real(program).module(root))?;
    // The time of the host's functions would be their callers' otherwise.
    let options = Options { probe: Probe::Profile { spans: true }, imports: true, ..Options::default() };
    let rewritten = rewrite(&wasm, &options)?;
    let plain = Plain::new(&engine, &wasm, &rewritten.symbols)?;
    let profiled = (Module::new(&engine, &rewritten.wasm)?, rewritten.symbols);
    let (mut sampled, mut found, mut worth) = (Times::new(), Times::new(), 0.0);
    for _ in 0..rounds {
        add(&mut sampled, plain.sample(&engine, root, program)?);
        let (times, samples) = profile(&engine, root, program, &profiled)?;
        add(&mut found, times);
        worth += samples;
    }
    let names = profiled.1.symbols.iter().map(|symbol| (symbol.func_index.0, symbol.display_name()));
    let names: BTreeMap<u32, &str> = names.collect();
    let samples = sampled.values().sum();
    let (sampled, found) = (shares(&sampled), shares(&found));
    let mut functions: BTreeMap<u32, Function> = BTreeMap::new();
    for (n, times) in [&sampled, &found].into_iter().enumerate() {
        for (index, share) in times {
            let name = names.get(index).map_or_else(|| format!("func[{index}]"), |name| (*name).to_owned());
            functions.entry(*index).or_insert(Function { name, shares: [0.0; 2] }).shares[n] = *share;
        }
    }
    let mut functions: Vec<Function> = functions.into_values().collect();
    functions.sort_by(|a, b| b.shares[0].total_cmp(&a.shares[0]));
    Ok(Accuracy { program, functions, samples: [samples, worth] })
}

/// The program with probes around its host's functions only, so that a sampler can tell whose time it sees.
struct Plain {
    module: Module,
    /// How much further than in the program a function's index is.
    moved: u32,
}

impl Plain {
    fn new(engine: &Engine, wasm: &[u8], symbols: &SymbolTable) -> anyhow::Result<Plain> {
        let imported = symbols.symbols.iter().filter(|symbol| symbol.imported);
        let only = imported.map(|symbol| Pattern::text(symbol.display_name())).collect::<Result<_, _>>()?;
        let filter = Filter { only, skip: Vec::new() };
        let rewritten = rewrite(wasm, &Options { filter, imports: true, ..Options::default() })?;
        let probed = rewritten.symbols.symbols.iter().all(|symbol| symbol.imported);
        ensure!(probed, "functions of the guest's have probes");
        let module = Module::new(engine, &rewritten.wasm)?;
        let moved = module.imports().filter(|import| import.module() == names::MODULE).count() as u32;
        Ok(Plain { module, moved })
    }

    /// How often a sampler found a run in each function.
    fn sample(&self, engine: &Engine, root: &Path, program: Program) -> anyhow::Result<Times> {
        let out = real::out()?;
        let mut guest = Guest::new(engine, program.wasi(root, out.path())?)?;
        guest.linker.func_wrap(names::MODULE, names::ENTER, |_: u32| -> u32 {
            Sampler::set_in_host(true);
            0
        })?;
        guest.linker.func_wrap(names::MODULE, names::LEAVE, |_: u32| Sampler::set_in_host(false))?;
        let sampler = Sampler::start(&self.module)?;
        guest.prepare(program, &self.module, root)?.run(&mut guest.store)?;
        let counts = sampler.stop(&self.module).into_iter();
        Ok(counts.map(|(function, count)| (function - self.moved, count as f64)).collect())
    }
}

/// Each function's self time in a profile, and how many samples that is worth.
fn profile(
    engine: &Engine,
    root: &Path,
    program: Program,
    (module, symbols): &(Module, SymbolTable),
) -> anyhow::Result<(Times, f64)> {
    let out = real::out()?;
    let trace = tempfile::NamedTempFile::new()?;
    let mut guest = Guest::new(engine, program.wasi(root, out.path())?)?;
    let builder = Recorder::builder().calibrate(false).symbols(symbols.to_bytes());
    let recorder = builder.sink(trace.reopen()?).build(engine)?;
    let lanes = recorder.link_inlined(&mut guest.store, &mut guest.linker)?;
    guest.prepare(program, module, root)?.run(&mut guest.store)?;
    ensure!(lanes.profiles() == 1, "the probes are gone");
    recorder.finish("completed")?;
    let bytes = std::fs::read(trace.path())?;
    let profile = Profile::read(TraceReader::new(&bytes[..])?, |_| ())?;
    let calls = profile.calls();
    ensure!(calls >= real::CALLS, "{calls} calls counted, which are too few");
    let guests = symbols.symbols.iter().filter(|symbol| !symbol.imported);
    let guests: BTreeMap<FuncId, u32> = guests.map(|symbol| (symbol.id, symbol.func_index.0)).collect();
    let mut times = Times::new();
    for row in FlatProfile::new(&profile.tree, &profile.symbols, &profile.header, None).rows {
        if let Some(index) = guests.get(&row.func) {
            *times.entry(*index).or_default() += row.self_nanos;
        }
    }
    Ok((times, profile.sampling().context("it is no profile")?.effective_samples()))
}

/// Adds what was seen in one more run.
fn add(times: &mut Times, more: Times) {
    more.into_iter().for_each(|(function, time)| *times.entry(function).or_default() += time);
}

/// Parts of the sum.
fn shares(times: &Times) -> Times {
    let sum: f64 = times.values().sum();
    times.iter().map(|(function, time)| (*function, time / sum)).collect()
}

impl Accuracy {
    /// The function whose share in the profile is furthest from the sampler's.
    fn furthest(&self) -> Option<&Function> {
        self.functions.iter().max_by(|a, b| a.distance().total_cmp(&b.distance()))
    }
}

impl Function {
    /// In points.
    fn distance(&self) -> f64 {
        100.0 * (self.shares[1] - self.shares[0]).abs()
    }

    fn cells(&self) -> String {
        let [sampler, profile] = self.shares.map(|share| format!("{:.1}", 100.0 * share));
        format!("`{}` | {sampler} | {profile}", self.name)
    }
}

/// How far the profiles are from the sampler at most, and what both say of the functions that take most.
pub(crate) fn table(measured: &[Accuracy]) -> String {
    let mut text = String::from(
        "| program | samples | the profile's are worth | furthest, points | function | sampler % | profile % |\n\
         |---|--:|--:|--:|---|--:|--:|\n",
    );
    for one in measured {
        let [sampled, worth] = one.samples;
        let furthest = one.furthest().map_or_else(
            || "| | |".to_owned(),
            |function| format!("{:.1} | {}", function.distance(), function.cells()),
        );
        text += &format!("| {} | {sampled:.0} | {worth:.0} | {furthest} |\n", one.program.name());
    }
    text += "\n| program | function | sampler % | profile % |\n|---|---|--:|--:|\n";
    for one in measured {
        for function in one.functions.iter().take(TOLD) {
            text += &format!("| {} | {} |\n", one.program.name(), function.cells());
        }
    }
    text
}
