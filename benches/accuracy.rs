//! Is the profile true? `cargo bench --bench accuracy`.
//!
//! The Game of Life of `examples/` runs in turn without probes under a native sampler, with probes under both clocks (as `run` does it:
//! inside with the ticker, beside the module with `precise`), and as a profile on both stacks. Each function's share of the time must be
//! the same in all. This is a hard case: a call takes 2.5 ns on average, so probes take several times as long as what they measure.
//! (Published programs: `scripts/bench --part accuracy`.)
//!
//! Goal: with the probes' cost subtracted, no function's share of self time is more than 5 points from the sampler's; for a profile, 3
//! points.
//!
//! `-- c wat` measures other examples, by the names of their folders.
#![allow(missing_docs, clippy::print_stdout)]

mod sampler;

use anyhow::{Context, ensure};
use kperf_abi::SymbolTable;
use kperf_profile::{FlatProfile, Profile};
use kperf_rewriter::Recording;
use kperf_trace::TraceReader;
use kperf_wasmtime::{ClockChoice, HAS_NATIVE_STACKS, Recorder, Sampling, is_inlined, is_native};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use wasmtime::{Config, Engine, Linker, Module, Store};
use wasmtime_wasi::p1::{self, WasiP1Ctx};
use wasmtime_wasi::{I32Exit, WasiCtxBuilder};

const STEPS: u64 = 500;
const CALLS_A_STEP: u64 = 4_001;
/// Runs with each clock. A function's time is the median of them: in a run in which the machine did something else, some
/// function has all of that.
const ROUNDS: usize = 21;
/// Runs under the sampler for each round; together they take some 10,000 samples.
const SAMPLED_RUNS: usize = 10;
/// How often a recorded run is tried on a busy machine before a disturbed one is taken.
const TRIES: usize = 20;
/// Functions with less than that in every column are summed up.
const SMALL: f64 = 0.005;

const CLOCKS: [ClockChoice; 2] = [ClockChoice::Ticker { period: ClockChoice::PERIOD }, ClockChoice::Precise];
const COLUMNS: [&str; 7] = ["sampler", "ticker", "compens.", "precise", "compens.", "shadow", "native"];
/// How often a profile is sampled here, so that short runs have some samples: of the module's own stack, of the thread's.
const PERIODS: [Duration; 2] = [Duration::from_micros(50), Duration::from_micros(200)];

/// One example, compiled with probes and without.
struct Guest {
    engine: Engine,
    plain: Module,
    /// With each of the clocks.
    probed: [Module; 2],
    /// On a shadow stack and the native one.
    profiled: [Module; 2],
    symbols: SymbolTable,
}

/// What one recorded run says.
struct Recorded {
    /// Self time of each function by its name, in nanoseconds, raw and compensated.
    own: BTreeMap<String, (f64, f64)>,
    calls: u64,
    /// What the run took for each call, in nanoseconds.
    nanos_a_call: f64,
    /// What the header says that a probe costs, in nanoseconds.
    cost: (f64, f64),
    /// Whether somebody else had the processor meanwhile, the guest's or the ticker's.
    disturbed: bool,
}

/// The machine was too busy to calibrate.
#[derive(Debug)]
struct NotCalibrated;

impl std::fmt::Display for NotCalibrated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("nothing was calibrated")
    }
}

impl std::error::Error for NotCalibrated {}

fn main() -> anyhow::Result<()> {
    // `cargo test` runs benchmarks too, without this flag: once is enough then.
    let rounds = if std::env::args().any(|arg| arg == "--bench") { ROUNDS } else { 1 };
    let mut examples: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    if examples.is_empty() {
        examples.push("rust".into());
    }
    for example in examples {
        compare(&example, rounds).with_context(|| example)?;
    }
    Ok(())
}

/// Measures one example and prints its table.
fn compare(example: &str, rounds: usize) -> anyhow::Result<()> {
    let guest = Guest::new(example)?;
    let mut sampled: BTreeMap<String, u64> = BTreeMap::new();
    let mut profiled: [BTreeMap<String, f64>; 2] = Default::default();
    let mut profile_samples = [0.0; 2];
    let mut plain_nanos = Vec::new();
    let mut recorded: [Vec<Recorded>; 2] = Default::default();
    for _ in 0..rounds {
        for _ in 0..SAMPLED_RUNS {
            // First: the sampler gives the signal back to who had it.
            for (n, own) in profiled.iter_mut().enumerate() {
                if HAS_NATIVE_STACKS || !is_native(&guest.profiled[n]) {
                    profile_samples[n] += guest.profile(n, own)?;
                }
            }
            for (function, count) in guest.sample()? {
                *sampled.entry(function).or_default() += count;
            }
            plain_nanos.push(guest.plain()?);
        }
        for ((clock, module), runs) in CLOCKS.iter().zip(&guest.probed).zip(&mut recorded) {
            runs.push(guest.record_undisturbed(*clock, module)?);
        }
    }
    let samples: u64 = sampled.values().sum();
    let plain_nanos = median(plain_nanos);
    println!(
        "\n{example}: {rounds} runs with each clock, {samples} samples of the plain run; medians. {:.0} and {:.0} samples of \
         profiles (effective)",
        profile_samples[0], profile_samples[1],
    );
    println!("  plain{:9.2} ns a call", plain_nanos / recorded[0][0].calls as f64);
    for (clock, runs) in CLOCKS.iter().zip(&recorded) {
        let of = |field: fn(&Recorded) -> f64| median(runs.iter().map(field).collect());
        let probed = of(|run| run.nanos_a_call);
        let (inside, outside) = (of(|run| run.cost.0), of(|run| run.cost.1));
        let disturbed = runs.iter().filter(|run| run.disturbed).count();
        if disturbed > 0 {
            println!("  {disturbed} of them disturbed:");
        }
        println!(
            "  {:8}{probed:6.2} ns a call, added {:6.2}, calibrated {inside:6.2} inside + {outside:6.2} outside = {:6.2}",
            if *clock == ClockChoice::Precise { "precise" } else { "ticker" },
            probed - plain_nanos / runs[0].calls as f64,
            inside + outside,
        );
    }
    let ([ticker, precise], [shadow, native]) = (&recorded, profiled);
    let columns = [
        shares(sampled.into_iter().map(|(name, samples)| (name, samples as f64)).collect()),
        shares(medians(ticker, |own| own.0)),
        shares(medians(ticker, |own| own.1)),
        shares(medians(precise, |own| own.0)),
        shares(medians(precise, |own| own.1)),
        shares(shadow),
        shares(native),
    ];
    print_table(&columns);
    Ok(())
}

/// Self time of each function: the median of all runs.
fn medians(runs: &[Recorded], field: fn(&(f64, f64)) -> f64) -> BTreeMap<String, f64> {
    let mut own: BTreeMap<&String, Vec<f64>> = BTreeMap::new();
    for run in runs {
        for (name, nanos) in &run.own {
            own.entry(name).or_default().push(field(nanos));
        }
    }
    own.into_iter().map(|(name, nanos)| (name.clone(), median(nanos))).collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Parts of the sum.
fn shares(mut own: BTreeMap<String, f64>) -> BTreeMap<String, f64> {
    let sum: f64 = own.values().sum();
    own.values_mut().for_each(|own| *own /= sum);
    own
}

fn print_table(columns: &[BTreeMap<String, f64>; 7]) {
    let of = |name: &String| columns.each_ref().map(|column| column.get(name).copied().unwrap_or(0.0));
    let mut rows: Vec<(String, [f64; 7])> = Vec::new();
    let mut rest = [0.0; 7];
    let names: std::collections::BTreeSet<&String> = columns.iter().flat_map(BTreeMap::keys).collect();
    for name in names {
        let row = of(name);
        if row.iter().any(|share| *share >= SMALL) {
            rows.push((name.clone(), row));
        } else {
            rest.iter_mut().zip(row).for_each(|(sum, share)| *sum += share);
        }
    }
    rows.sort_by(|a, b| b.1[0].total_cmp(&a.1[0]));
    rows.push(("all others".into(), rest));
    let line = |name: &str, cells: [String; 7]| {
        println!("  {name:32}{}", cells.map(|c| format!("{c:>10}")).concat())
    };
    line("share of self time, %", COLUMNS.map(String::from));
    for (name, row) in &rows {
        line(name, row.map(|share| format!("{:.1}", 100.0 * share)));
    }
    let furthest = std::array::from_fn(|column| {
        rows.iter().map(|(_, row)| (row[column] - row[0]).abs() * 100.0).fold(0.0, f64::max)
    });
    line("furthest from the sampler, points", furthest.map(|points| format!("{points:.1}")));
}

impl Guest {
    fn new(example: &str) -> anyhow::Result<Guest> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let wasm = std::fs::read(root.join(format!("examples/game-of-life/{example}/life.wasm")))?;
        let rewrite = |recording| {
            let options = kperf_rewriter::Options { recording, ..kperf_rewriter::Options::default() };
            kperf_rewriter::rewrite(&wasm, &options)
        };
        let beside = rewrite(Recording::imported())?;
        let mut config = Config::new();
        Recorder::configure(&mut config);
        config.wasm_gc(true).wasm_function_references(true).wasm_exceptions(true);
        let engine = Engine::new(&config)?;
        Ok(Guest {
            plain: Module::new(&engine, &wasm)?,
            probed: [
                Module::new(&engine, &rewrite(Recording::inline())?.wasm)?,
                Module::new(&engine, &beside.wasm)?,
            ],
            profiled: [
                Module::new(&engine, &rewrite(Recording::Profile { spans: true })?.wasm)?,
                Module::new(&engine, &rewrite(Recording::Count)?.wasm)?,
            ],
            symbols: beside.symbols,
            engine,
        })
    }

    /// The name of a function by its index in the module without probes.
    fn name(&self, index: u32) -> String {
        let symbol = self.symbols.symbols.iter().find(|symbol| symbol.func_index.0 == index);
        symbol.map_or_else(|| format!("func[{index}]"), |symbol| symbol.display_name().to_owned())
    }

    fn host(&self) -> anyhow::Result<(Store<WasiP1Ctx>, Linker<WasiP1Ctx>)> {
        let wasi = WasiCtxBuilder::new().args(&["life", &STEPS.to_string()]).build_p1();
        let mut linker = Linker::new(&self.engine);
        p1::add_to_linker_sync(&mut linker, |wasi| wasi)?;
        Ok((Store::new(&self.engine, wasi), linker))
    }

    /// Runs without probes; answers the nanoseconds.
    fn plain(&self) -> anyhow::Result<f64> {
        let (mut store, linker) = self.host()?;
        let instance = linker.instantiate(&mut store, &self.plain)?;
        start(&mut store, &instance)
    }

    /// Runs without probes; answers how often it was interrupted in which function.
    fn sample(&self) -> anyhow::Result<BTreeMap<String, u64>> {
        let (mut store, linker) = self.host()?;
        let instance = linker.instantiate(&mut store, &self.plain)?;
        let sampler = sampler::Sampler::start(&self.plain)?;
        start(&mut store, &instance)?;
        let mut samples = BTreeMap::new();
        for (index, count) in sampler.stop(&self.plain) {
            *samples.entry(self.name(index)).or_default() += count;
        }
        Ok(samples)
    }

    /// Makes a profile of one of the modules for that, and adds the self times to `own`; answers how many samples that is worth.
    fn profile(&self, n: usize, own: &mut BTreeMap<String, f64>) -> anyhow::Result<f64> {
        let (mut store, mut linker) = self.host()?;
        let trace = Trace::default();
        let recorder = Recorder::builder()
            .calibrate(false)
            .sampling(Sampling::new(PERIODS[n]))
            .symbols(self.symbols.to_bytes())
            .sink(trace.clone())
            .build(&self.engine)?;
        let module = &self.profiled[n];
        if is_native(module) {
            recorder.native_code(module, &self.symbols.to_bytes())?;
        }
        recorder.link_inlined(&mut store, &mut linker)?;
        let instance = linker.instantiate(&mut store, module)?;
        start(&mut store, &instance)?;
        recorder.finish("completed")?;
        let bytes = std::mem::take(&mut *trace.0.lock().unwrap_or_else(|e| e.into_inner()));
        let profile = Profile::read(TraceReader::new(&bytes[..])?, |_| ())?;
        let least = STEPS * CALLS_A_STEP;
        ensure!((least..2 * least).contains(&profile.calls()), "{} calls", profile.calls());
        for row in FlatProfile::new(&profile.tree, &profile.symbols, &profile.header, None).rows {
            *own.entry(row.name.to_string()).or_default() += row.self_nanos;
        }
        Ok(profile.sampling().context("it is no profile")?.effective_samples())
    }

    /// Runs with probes until nobody else had the processors meanwhile; not for ever.
    fn record_undisturbed(&self, clock: ClockChoice, module: &Module) -> anyhow::Result<Recorded> {
        let mut last = None;
        for _ in 0..TRIES {
            match self.record(clock, module) {
                Ok(run) if run.disturbed => last = Some(run),
                Err(error) if error.is::<NotCalibrated>() => {}
                run => return run,
            }
        }
        last.context("nothing was calibrated")
    }

    /// Runs with probes.
    fn record(&self, clock: ClockChoice, module: &Module) -> anyhow::Result<Recorded> {
        let (mut store, mut linker) = self.host()?;
        let trace = Trace::default();
        let recorder = Recorder::builder()
            .clock(clock)
            .symbols(self.symbols.to_bytes())
            .sink(trace.clone())
            .build(&self.engine)?;
        if is_inlined(module) {
            recorder.link_inlined(&mut store, &mut linker)?;
        } else {
            recorder.link(&mut store, &mut linker)?;
        }
        let instance = linker.instantiate(&mut store, module)?;
        let switches = sampler::switches();
        let nanos = start(&mut store, &instance)?;
        let switched = sampler::switches() > switches;
        let summary = recorder.finish("completed")?;
        let bytes = std::mem::take(&mut *trace.0.lock().unwrap_or_else(|e| e.into_inner()));
        let profile = Profile::read(TraceReader::new(&bytes[..])?, |_| ())?;
        let calls = profile.calls();
        let least = STEPS * CALLS_A_STEP;
        ensure!((least..2 * least).contains(&calls), "{calls} calls");
        let cost = profile.header.probe_cost.ok_or(NotCalibrated)?;
        let flat = |cost| FlatProfile::new(&profile.tree, &profile.symbols, &profile.header, cost);
        let mut own: BTreeMap<String, (f64, f64)> = BTreeMap::new();
        for row in flat(None).rows {
            own.entry(row.name.to_string()).or_default().0 += row.self_nanos;
        }
        for row in flat(Some(&cost)).rows {
            own.entry(row.name.to_string()).or_default().1 += row.self_nanos;
        }
        let cost = (cost.inside_nanos, cost.outside_nanos);
        let disturbed = switched || summary.ticker_stalls.nanos as f64 > nanos / 50.0;
        Ok(Recorded { own, calls, nanos_a_call: nanos / calls as f64, cost, disturbed })
    }
}

/// Runs a command to its end; answers the nanoseconds.
fn start(store: &mut Store<WasiP1Ctx>, instance: &wasmtime::Instance) -> anyhow::Result<f64> {
    let run = instance.get_typed_func::<(), ()>(&mut *store, "_start")?;
    let start = Instant::now();
    let result = run.call(store, ());
    let nanos = start.elapsed().as_secs_f64() * 1e9;
    match result {
        Err(error) if error.downcast_ref::<I32Exit>().is_none_or(|exit| exit.0 != 0) => Err(error.into()),
        _ => Ok(nanos),
    }
}

/// A trace in memory.
#[derive(Clone, Default)]
struct Trace(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Trace {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(|e| e.into_inner()).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
