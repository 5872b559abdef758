//! What recording costs a guest, beside what it would cost at least: `cargo bench -p kperf-wasmtime`.
//!
//! The workload is the Game of Life of `examples/`, 2.0 M calls, rewritten here. All configurations run in turn, so that a
//! machine whose speed changes changes it for all, and each asserts how many events it recorded. Floors:
//!
//! * `F_noop`: the probes call host functions that do nothing
//! * `F_clock`: two readings of the clock, in a loop of their own
//!
//! Goals (per call, until the guest returns): precise at most 1.25 x (F_noop + F_clock), ticker at most F_noop;
//! inlined with a ticker at most 3 ns, switched off at most 1 ns; a profile at most 1.2 ns, 0.8 ns without slow calls.
#![allow(missing_docs, clippy::print_stdout)]

use anyhow::{Context, ensure};
use kperf_abi::names;
use kperf_rewriter::{Leaf, Recording};
use kperf_trace::{Item, TraceReader};
use kperf_wasmtime::{ClockChoice, HAS_NATIVE_STACKS, HostLane, Recorder, Summary, is_native};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use wasmtime::{Config, Engine, Linker, Module, Store};
use wasmtime_wasi::p1::{self, WasiP1Ctx};
use wasmtime_wasi::{I32Exit, WasiCtxBuilder};

const STEPS: &str = "500";
const ROUNDS: usize = 15;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probes {
    /// The module as it was.
    None,
    /// Host functions that do nothing.
    Empty,
    /// Host functions that read the clock and keep it.
    Clock,
    /// The recorder module.
    Module(ClockChoice),
    /// Our host functions.
    Functions(ClockChoice),
    /// The recorder inside the module.
    Inline(ClockChoice),
    /// The same, and functions that nothing happens in are counted only.
    Counted(ClockChoice),
    /// The recorder inside the module, switched off.
    Off,
    /// A profile: exact counts and samples, slow calls told or not.
    Profile { spans: bool },
    /// The same, of the thread's own stack.
    Native,
}

struct Data {
    wasi: WasiP1Ctx,
    lane: Option<HostLane>,
    now: u64,
}

struct Bench {
    engine: Engine,
    plain: Module,
    probed: Module,
    inlined: Module,
    counted: Module,
    /// Without slow calls, and with them.
    profiled: [Module; 2],
    /// For samples of the thread's own stack.
    native: Module,
    symbols: Vec<u8>,
    clock: quanta::Clock,
    directory: tempfile::TempDir,
}

/// Nanoseconds of one run.
#[derive(Clone, Copy)]
struct Run {
    /// Until the guest returned.
    guest: f64,
    /// Until the trace was complete.
    all: f64,
    /// Stalls of the writer and the ticker.
    stalls: (u64, u64),
    bytes: u64,
}

fn main() -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let wasm = std::fs::read(root.join("examples/game-of-life/rust/life.wasm"))?;
    let rewritten = kperf_rewriter::rewrite(&wasm, &kperf_rewriter::Options::default())?;
    let inline = kperf_rewriter::Options { recording: Recording::inline(), ..Default::default() };
    let inlined = kperf_rewriter::rewrite(&wasm, &inline)?;
    let counted =
        kperf_rewriter::Options { recording: Recording::inline_with(Leaf::Count), ..Default::default() };
    let counted = kperf_rewriter::rewrite(&wasm, &counted)?;
    let leaves = counted.plan.counted();
    ensure!(leaves > 0, "no function is counted only");
    let profiled = [false, true].map(|spans| {
        let recording = Recording::Profile { spans };
        kperf_rewriter::rewrite(&wasm, &kperf_rewriter::Options { recording, ..Default::default() })
    });
    let native = kperf_rewriter::Options { recording: Recording::Count, ..Default::default() };
    let native = kperf_rewriter::rewrite(&wasm, &native)?;
    let mut config = Config::new();
    Recorder::configure(&mut config);
    let engine = Engine::new(&config)?;
    let bench = Bench {
        plain: Module::new(&engine, &wasm)?,
        probed: Module::new(&engine, &rewritten.wasm)?,
        inlined: Module::new(&engine, &inlined.wasm)?,
        counted: Module::new(&engine, &counted.wasm)?,
        profiled: {
            let [without, with] = profiled;
            [Module::new(&engine, &without?.wasm)?, Module::new(&engine, &with?.wasm)?]
        },
        native: Module::new(&engine, &native.wasm)?,
        symbols: rewritten.symbols.to_bytes(),
        clock: quanta::Clock::new(),
        directory: tempfile::tempdir()?,
        engine,
    };
    let calls = bench.count()?;
    // `-- ticker` measures only configurations with that in their names, besides the floors.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let mut configurations = vec![
        ("plain", Probes::None),
        ("empty host functions (F_noop)", Probes::Empty),
        ("host functions, clock only", Probes::Clock),
        ("recorder module, precise", Probes::Module(ClockChoice::Precise)),
        ("recorder module, ticker 2 us", Probes::Module(ClockChoice::ticker())),
        ("add_to_linker, precise", Probes::Functions(ClockChoice::Precise)),
        ("add_to_linker, ticker 2 us", Probes::Functions(ClockChoice::ticker())),
        ("inline, precise", Probes::Inline(ClockChoice::Precise)),
        ("inline, ticker 2 us", Probes::Inline(ClockChoice::ticker())),
        ("inline, ticker 2 us, --leaf count", Probes::Counted(ClockChoice::ticker())),
        ("inline, precise, --leaf count", Probes::Counted(ClockChoice::Precise)),
        ("inline, switched off", Probes::Off),
        ("profile, native stack", Probes::Native),
        ("profile", Probes::Profile { spans: true }),
        ("profile, no slow calls", Probes::Profile { spans: false }),
    ];
    configurations.retain(|(_, probes)| *probes != Probes::Native || HAS_NATIVE_STACKS);
    configurations.retain(|(name, probes)| {
        matches!(probes, Probes::None | Probes::Empty)
            || wanted.is_empty()
            || wanted.iter().any(|wanted| name.contains(wanted.as_str()))
    });
    // `cargo test` runs benchmarks too, with this flag: once is enough then.
    let rounds = if std::env::args().any(|arg| arg == "--bench") { ROUNDS } else { 1 };
    let mut runs = vec![Vec::new(); configurations.len()];
    let mut clock_floors = Vec::new();
    for _ in 0..rounds {
        for ((_, probes), runs) in configurations.iter().zip(&mut runs) {
            runs.push(bench.run(*probes, calls)?);
        }
        clock_floors.push(bench.two_readings());
    }
    let per_call = |runs: &[Run], field: fn(&Run) -> f64| {
        let mut times: Vec<f64> = runs.iter().map(|run| field(run) / calls as f64).collect();
        times.sort_by(f64::total_cmp);
        (times[0], times[times.len() / 2])
    };
    clock_floors.sort_by(f64::total_cmp);
    let (plain, plain_median) = per_call(&runs[0], |run| run.guest);
    let noop = per_call(&runs[1], |run| run.guest).0 - plain;
    let clock = clock_floors[0];
    println!(
        "{calls} calls a run, {rounds} runs in turn; nanoseconds a call; F_noop {noop:.2}, F_clock {clock:.2}\n"
    );
    println!(
        "{:36}{:>8}{:>8}{:>8}{:>8}{:>10}{:>8}{:>14}{:>9}",
        "", "min", "median", "added", "median", "to floor", "+ file", "stalls w/t", "B/call"
    );
    for ((name, probes), runs) in configurations.iter().zip(&runs) {
        let (min, median) = per_call(runs, |run| run.guest);
        let (all, _) = per_call(runs, |run| run.all);
        let floor = match probes {
            Probes::None => f64::NAN,
            Probes::Empty
            | Probes::Module(ClockChoice::Ticker { .. })
            | Probes::Functions(ClockChoice::Ticker { .. })
            | Probes::Inline(ClockChoice::Ticker { .. })
            | Probes::Counted(ClockChoice::Ticker { .. })
            | Probes::Off
            | Probes::Native
            | Probes::Profile { .. } => noop,
            _ => noop + clock,
        };
        let ratio = if floor.is_nan() { String::new() } else { format!("{:.2}", (min - plain) / floor) };
        let stalls = runs.iter().fold((0, 0), |sum, run| (sum.0 + run.stalls.0, sum.1 + run.stalls.1));
        println!(
            "{name:36}{min:8.2}{median:8.2}{:8.2}{:8.2}{ratio:>10}{:8.2}{:>14}{:9.3}",
            min - plain,
            median - plain_median,
            all - plain,
            format!("{}/{}", stalls.0, stalls.1),
            runs.iter().map(|run| run.bytes).max().unwrap_or_default() as f64 / calls as f64,
        );
    }
    Ok(())
}

impl Bench {
    fn data(&self, lane: Option<HostLane>) -> Data {
        let wasi = WasiCtxBuilder::new().args(&["life", STEPS]).build_p1();
        Data { wasi, lane, now: 0 }
    }

    fn linker(&self) -> anyhow::Result<Linker<Data>> {
        let mut linker = Linker::new(&self.engine);
        p1::add_to_linker_sync(&mut linker, |data: &mut Data| &mut data.wasi)?;
        Ok(linker)
    }

    /// How many calls a run has, by host functions that count.
    fn count(&self) -> anyhow::Result<u64> {
        let mut linker = self.linker()?;
        let enters = Arc::new(AtomicU64::new(0));
        let leaves = Arc::new(AtomicU64::new(0));
        let (counted, left) = (enters.clone(), leaves.clone());
        linker.func_wrap(names::MODULE, names::ENTER, move |_: u32| -> u32 {
            counted.fetch_add(1, Ordering::Relaxed) as u32
        })?;
        linker.func_wrap(names::MODULE, names::LEAVE, move |_: u32| {
            left.fetch_add(1, Ordering::Relaxed);
        })?;
        linker.func_wrap(names::MODULE, names::UNWIND, |_: u32| ())?;
        let mut store = Store::new(&self.engine, self.data(None));
        start(&mut store, &linker, &self.probed)?;
        let calls = enters.load(Ordering::Relaxed);
        ensure!(calls > 2_000_500, "{calls} calls: are the probes gone?");
        ensure!(leaves.load(Ordering::Relaxed) <= calls, "more leaves than enters");
        Ok(calls)
    }

    fn run(&self, probes: Probes, calls: u64) -> anyhow::Result<Run> {
        let mut linker = self.linker()?;
        match probes {
            Probes::None => {}
            Probes::Empty => {
                linker.func_wrap(names::MODULE, names::ENTER, |_: u32| -> u32 { 0 })?;
                linker.func_wrap(names::MODULE, names::LEAVE, |_: u32| ())?;
                linker.func_wrap(names::MODULE, names::UNWIND, |_: u32| ())?;
            }
            Probes::Clock => {
                let (enter, leave) = (self.clock.clone(), self.clock.clone());
                linker.func_wrap(
                    names::MODULE,
                    names::ENTER,
                    move |mut caller: wasmtime::Caller<'_, Data>, _: u32| -> u32 {
                        caller.data_mut().now = enter.raw();
                        0
                    },
                )?;
                linker.func_wrap(
                    names::MODULE,
                    names::LEAVE,
                    move |mut caller: wasmtime::Caller<'_, Data>, _: u32| caller.data_mut().now = leave.raw(),
                )?;
                linker.func_wrap(names::MODULE, names::UNWIND, |_: u32| ())?;
            }
            Probes::Module(clock) => {
                let (recorder, path) = self.recorder(clock)?;
                let mut store = Store::new(&self.engine, self.data(None));
                recorder.link(&mut store, &mut linker)?;
                return recorded(&mut store, &linker, &self.probed, &recorder, &path, calls);
            }
            Probes::Inline(clock) | Probes::Counted(clock) => {
                let (recorder, path) = self.recorder(clock)?;
                let mut store = Store::new(&self.engine, self.data(None));
                recorder.link_inlined(&mut store, &mut linker)?;
                let is_counted = matches!(probes, Probes::Counted(_));
                let module = if is_counted { &self.counted } else { &self.inlined };
                return recorded(&mut store, &linker, module, &recorder, &path, calls);
            }
            Probes::Off => {
                let (recorder, _) = self.recorder(ClockChoice::Precise)?;
                let mut store = Store::new(&self.engine, self.data(None));
                let lanes = recorder.link_inlined(&mut store, &mut linker)?;
                lanes.set_recording(&mut store, false);
                let guest = start(&mut store, &linker, &self.inlined)?;
                ensure!(lanes.lanes().len() == 1, "the probes are gone");
                let summary = recorder.finish("completed")?;
                ensure!(summary.events == 0, "{summary:?} while switched off");
                return Ok(Run { guest, all: guest, stalls: (0, 0), bytes: 0 });
            }
            Probes::Profile { .. } | Probes::Native => {
                let (recorder, path) = self.recorder(ClockChoice::Precise)?;
                let mut store = Store::new(&self.engine, self.data(None));
                let lanes = recorder.link_inlined(&mut store, &mut linker)?;
                let module = match probes {
                    Probes::Profile { spans } => &self.profiled[usize::from(spans)],
                    _ => &self.native,
                };
                if is_native(module) {
                    recorder.native_code(module, &self.symbols)?;
                }
                let begin = Instant::now();
                let guest = start(&mut store, &linker, module)?;
                ensure!(lanes.profiles() == 1, "the probes are gone");
                recorder.finish("completed")?;
                let all = begin.elapsed().as_secs_f64() * 1e9;
                let counted = counted(&path)?;
                ensure!(counted == calls, "{counted} calls were counted, {calls} were made");
                return Ok(Run { guest, all, stalls: (0, 0), bytes: std::fs::metadata(path)?.len() });
            }
            Probes::Functions(clock) => {
                let (recorder, path) = self.recorder(clock)?;
                let mut store = Store::new(&self.engine, self.data(Some(recorder.host_lane())));
                recorder.add_to_linker(&mut linker, |data: &mut Data| {
                    // Every store of this configuration has one.
                    data.lane.as_mut().unwrap_or_else(|| unreachable!())
                })?;
                return recorded(&mut store, &linker, &self.probed, &recorder, &path, calls);
            }
        }
        let mut store = Store::new(&self.engine, self.data(None));
        let module = if probes == Probes::None { &self.plain } else { &self.probed };
        let guest = start(&mut store, &linker, module)?;
        Ok(Run { guest, all: guest, stalls: (0, 0), bytes: 0 })
    }

    fn recorder(&self, clock: ClockChoice) -> anyhow::Result<(Recorder, std::path::PathBuf)> {
        let path = self.directory.path().join("life.kperf");
        let sink = File::create(&path)?;
        let builder =
            Recorder::builder().clock(clock).calibrate(false).symbols(self.symbols.clone()).sink(sink);
        Ok((builder.build(&self.engine)?, path))
    }

    /// Two readings of the clock, in nanoseconds.
    fn two_readings(&self) -> f64 {
        const READINGS: u32 = 1_000_000;
        let start = Instant::now();
        for _ in 0..READINGS {
            std::hint::black_box(self.clock.raw());
        }
        start.elapsed().as_secs_f64() * 2e9 / f64::from(READINGS)
    }
}

/// How many calls a profile says there were.
fn counted(path: &Path) -> anyhow::Result<u64> {
    let mut reader = TraceReader::new(File::open(path)?)?;
    let mut counted = 0;
    while let Some(item) = reader.next()? {
        if let Item::Window(window) = item {
            counted += window.calls.iter().map(|(_, calls)| calls).sum::<u64>();
        }
    }
    Ok(counted)
}

/// Runs a command to its end; answers the nanoseconds.
fn start(store: &mut Store<Data>, linker: &Linker<Data>, module: &Module) -> anyhow::Result<f64> {
    let instance = linker.instantiate(&mut *store, module)?;
    let run = instance.get_typed_func::<(), ()>(&mut *store, "_start")?;
    let start = Instant::now();
    let result = run.call(store, ());
    let nanos = start.elapsed().as_secs_f64() * 1e9;
    match result {
        Err(error) if error.downcast_ref::<I32Exit>().is_none_or(|exit| exit.0 != 0) => Err(error.into()),
        _ => Ok(nanos),
    }
}

fn recorded(
    store: &mut Store<Data>,
    linker: &Linker<Data>,
    module: &Module,
    recorder: &Recorder,
    path: &Path,
    calls: u64,
) -> anyhow::Result<Run> {
    let begin = Instant::now();
    let guest = start(store, linker, module)?;
    let summary: Summary = recorder.finish("completed").context("the trace")?;
    let all = begin.elapsed().as_secs_f64() * 1e9;
    // A frame that the program's end leaves open is closed by one unwind, whatever their number.
    ensure!(summary.events > 2 * calls - 10 && summary.events <= 2 * calls, "{summary:?} for {calls} calls");
    ensure!(summary.dropped_events == 0, "{summary:?}");
    let stalls = (summary.writer_stalls.count, summary.ticker_stalls.count);
    Ok(Run { guest, all, stalls, bytes: std::fs::metadata(path)?.len() })
}
