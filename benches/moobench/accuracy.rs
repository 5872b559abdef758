//! Is the profile of a published program true? Compares each function's share of the guest's time: by profiles on both stacks, and by
//! a native sampler of the program without probes.

use crate::guest::{self, Guest};
use crate::real::{self, Program};
use crate::sampler::Sampler;
use crate::workload::Workload;
use anyhow::{Context, ensure};
use kperf_abi::{FuncId, SymbolTable, names};
use kperf_profile::{FlatProfile, Profile};
use kperf_rewriter::{Filter, Host, Options, Pattern, Recording, rewrite};
use kperf_trace::TraceReader;
use kperf_wasmtime::{HAS_NATIVE_STACKS, Recorder, Sampling, is_native};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use wasmtime::{Engine, Module};

/// What both said of a program.
#[derive(Debug)]
pub(crate) struct Accuracy {
    pub(crate) program: Program,
    /// Functions by their share of self time, the largest first.
    pub(crate) functions: Vec<Function>,
    /// How many samples of the sampler hit the guest, and how many those of the profiles are worth.
    pub(crate) samples: [f64; 1 + STACKS],
}

#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// Of self time in the guest: by the sampler, by the profiles.
    pub(crate) shares: [f64; 1 + STACKS],
}

/// A fifth of the usual one, so that a few runs have samples enough: what is looked for is what is wrong, not what chance does.
const NATIVE_PERIOD: Duration = Duration::from_micros(200);
/// On how many stacks profiles find open calls: the native one, and the shadow.
const STACKS: usize = 2;
const RECORDINGS: [Recording; STACKS] = [Recording::Count, Recording::Profile { spans: true }];

/// How many functions of each program are listed one by one.
const TOLD: usize = 5;

/// What was seen so far, by the index of the function.
pub(crate) type Times = BTreeMap<u32, f64>;

/// A module with probes, and its functions.
pub(crate) type Probed = (Module, SymbolTable);

/// Runs a program under all, in turn.
pub(crate) fn measure(root: &Path, program: Program, rounds: usize) -> anyhow::Result<Accuracy> {
    let engine = guest::engine()?;
    let wasm = std::fs::read(Workload::Real(program).module(root))?;
    let profiled = RECORDINGS.map(|recording| {
        // The time of the host's functions would be their callers' otherwise.
        let rewritten = rewrite(&wasm, &Options { recording, imports: true, ..Options::default() })?;
        anyhow::Ok((Module::new(&engine, &rewritten.wasm)?, rewritten.symbols))
    });
    let profiled = profiled.into_iter().collect::<anyhow::Result<Vec<_>>>()?;
    let symbols = &profiled.first().context("nothing is compared")?.1;
    let plain = Plain::new(&engine, &wasm, symbols)?;
    let (mut found, mut samples) = ([const { Times::new() }; 1 + STACKS], [0.0; 1 + STACKS]);
    for _ in 0..rounds {
        // First: the sampler gives the signal back to who had it.
        for (n, profiled) in profiled.iter().enumerate() {
            if HAS_NATIVE_STACKS || !is_native(&profiled.0) {
                let measured = profile(&engine, root, program, profiled)?;
                add(&mut found[1 + n], measured.times);
                samples[1 + n] += measured.samples;
            }
        }
        add(&mut found[0], plain.sample(&engine, root, program)?);
    }
    samples[0] = found[0].values().sum();
    let names = symbols.symbols.iter().map(|symbol| (symbol.func_index.0, symbol.display_name()));
    let names: BTreeMap<u32, &str> = names.collect();
    let mut functions: BTreeMap<u32, Function> = BTreeMap::new();
    for (n, times) in found.iter().map(shares).enumerate() {
        for (index, share) in times {
            let name = names.get(&index).map_or_else(|| format!("func[{index}]"), |name| (*name).to_owned());
            functions.entry(index).or_insert(Function { name, shares: [0.0; 1 + STACKS] }).shares[n] = share;
        }
    }
    let mut functions: Vec<Function> = functions.into_values().collect();
    functions.sort_by(|a, b| b.shares[0].total_cmp(&a.shares[0]));
    Ok(Accuracy { program, functions, samples })
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
        let filter = Filter { only, ..Filter::default() };
        let rewritten =
            rewrite(wasm, &Options { filter, imports: true, host: Host::harmless(), ..Options::default() })?;
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
pub(crate) fn profile(
    engine: &Engine,
    root: &Path,
    program: Program,
    (module, symbols): &Probed,
) -> anyhow::Result<Measured> {
    let out = real::out()?;
    let trace = tempfile::NamedTempFile::new()?;
    let mut guest = Guest::new(engine, program.wasi(root, out.path())?)?;
    let builder = Recorder::builder().calibrate(false).symbols(symbols.to_bytes());
    let builder = if is_native(module) { builder.sampling(Sampling::new(NATIVE_PERIOD)) } else { builder };
    let recorder = builder.sink(trace.reopen()?).build(engine)?;
    if is_native(module) {
        recorder.native_code(module, &symbols.to_bytes())?;
    }
    let lanes = recorder.link_inlined(&mut guest.store, &mut guest.linker)?;
    guest.prepare(program, module, root)?.run(&mut guest.store)?;
    ensure!(lanes.profiles() == 1, "the probes are gone");
    recorder.finish("completed")?;
    let bytes = std::fs::read(trace.path())?;
    let profile = Profile::read(TraceReader::new(&bytes[..])?, |_| ())?;
    let calls = profile.calls();
    ensure!(calls >= real::CALLS, "{calls} calls counted, which are too few");
    let flat = FlatProfile::new(&profile.tree, &profile.symbols, &profile.header, None);
    let samples = profile.sampling().context("it is no profile")?.effective_samples();
    Ok(Measured { times: times(&flat, symbols), errors: errors(&profile, &flat, symbols)?, samples })
}

/// What a profile said.
pub(crate) struct Measured {
    pub(crate) times: Times,
    /// How far shares may be off, as its report says, in points.
    pub(crate) errors: Times,
    /// What its samples are worth.
    samples: f64,
}

/// How far the report says that functions' shares may be off, in points of the time of the guest's own functions.
pub(crate) fn errors(profile: &Profile, flat: &FlatProfile, symbols: &SymbolTable) -> anyhow::Result<Times> {
    let precision = profile.precision(flat.self_nanos).context("it says no precision")?;
    let ids: BTreeMap<FuncId, u32> =
        symbols.symbols.iter().map(|symbol| (symbol.id, symbol.func_index.0)).collect();
    let guest: f64 = times(flat, symbols).values().sum();
    let part = guest / flat.self_nanos.max(1.0);
    let points = |share, calls| 100.0 * precision.share_error(share, calls) / part.max(1e-9);
    let rows = flat.rows.iter();
    Ok(rows.filter_map(|row| Some((*ids.get(&row.func)?, points(row.share, row.calls)))).collect())
}

/// Self times of the guest's own functions.
pub(crate) fn times(flat: &FlatProfile, symbols: &SymbolTable) -> Times {
    let guests = symbols.symbols.iter().filter(|symbol| !symbol.imported);
    let guests: BTreeMap<FuncId, u32> = guests.map(|symbol| (symbol.id, symbol.func_index.0)).collect();
    let mut times = Times::new();
    for row in &flat.rows {
        if let Some(index) = guests.get(&row.func) {
            *times.entry(*index).or_default() += row.self_nanos;
        }
    }
    times
}

/// Adds what was seen in one more run.
pub(crate) fn add(times: &mut Times, more: Times) {
    more.into_iter().for_each(|(function, time)| *times.entry(function).or_default() += time);
}

/// Parts of the sum.
pub(crate) fn shares(times: &Times) -> Times {
    let sum: f64 = times.values().sum();
    times.iter().map(|(function, time)| (*function, time / sum)).collect()
}

impl Accuracy {
    /// The function whose share in a profile is furthest from the sampler's.
    fn furthest(&self, stack: usize) -> Option<&Function> {
        self.functions.iter().max_by(|a, b| a.distance(stack).total_cmp(&b.distance(stack)))
    }
}

impl Function {
    /// In points.
    fn distance(&self, stack: usize) -> f64 {
        100.0 * (self.shares[1 + stack] - self.shares[0]).abs()
    }
}

fn percent(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}

/// How far the profiles are from the sampler at most, and what all say of the functions that take most.
pub(crate) fn table(measured: &[Accuracy]) -> String {
    let mut text = String::from(
        "| program | stack | sampler's samples | the profile's are worth | furthest, points | function | sampler % | profile % |\n\
         |---|---|--:|--:|--:|---|--:|--:|\n",
    );
    for one in measured {
        for (n, stack) in
            ["native", "shadow"].into_iter().enumerate().filter(|(n, _)| one.samples[1 + n] > 0.0)
        {
            let Some(function) = one.furthest(n) else { continue };
            text += &format!(
                "| {} | {stack} | {:.0} | {:.0} | {:.1} | `{}` | {} | {} |\n",
                one.program.name(),
                one.samples[0],
                one.samples[1 + n],
                function.distance(n),
                function.name,
                percent(function.shares[0]),
                percent(function.shares[1 + n]),
            );
        }
    }
    text += "\n| program | function | sampler % | native stack % | shadow stack % |\n|---|---|--:|--:|--:|\n";
    for one in measured {
        for function in one.functions.iter().take(TOLD) {
            let shares = function.shares.map(percent).join(" | ");
            text += &format!("| {} | `{}` | {shares} |\n", one.program.name(), function.name);
        }
    }
    text
}
