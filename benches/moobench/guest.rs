//! Runs configurations under wasmtime, in a child process.

use crate::child_job::{ChildJob, Measured, TRACE};
use crate::real::{self, Program, Work};
use crate::way::{Clock, Target, Way};
use crate::whamm;
use crate::workload::{Job, Workload};
use anyhow::{Context, bail, ensure};
use kperf_otlp::SpanOptions;
use kperf_otlp::exporter::{self, Sending, Settings};
use kperf_profile::Profile;
use kperf_rewriter::{Filter, Options, Pattern, rewrite};
use kperf_trace::TraceReader;
use kperf_wasmtime::{Builder, ClockChoice, Inlined, Recorder, is_native};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use wasmtime::{Config, Engine, Linker, Module, Store};
use wasmtime_wasi::p1::{self, WasiP1Ctx};
use wasmtime_wasi::{I32Exit, WasiCtxBuilder};

/// The longest period that a ticker may have: in a run of a second it ticks once or twice.
const STANDING: Duration = Duration::from_secs(1);

/// Does a job in this process: compiles everything, then runs it in its order.
pub(crate) fn run(child: &ChildJob) -> anyhow::Result<Vec<Measured>> {
    let engine = engine()?;
    let compiled = child.ways.iter().map(|&way| Compiled::new(&engine, child, way));
    let compiled = compiled.collect::<anyhow::Result<Vec<_>>>()?;
    let run = |&at: &usize| compiled.get(at).context("the order has a way that isn't there")?.run();
    child.order.iter().map(run).collect()
}

/// A module with the probes of a way of recording. Each run has an instance of its own.
struct Compiled<'a> {
    engine: &'a Engine,
    job: &'a Job,
    way: Way,
    module: Module,
    symbols: Vec<u8>,
    /// What it writes.
    trace: PathBuf,
}

impl Compiled<'_> {
    fn new<'a>(engine: &'a Engine, child: &'a ChildJob, way: Way) -> anyhow::Result<Compiled<'a>> {
        let job = &child.job;
        let wasm = std::fs::read(job.workload.module(&job.root))?;
        let options = Options { recording: way.recording(), filter: filter(job)?, ..Options::default() };
        let rewritten = rewrite(&wasm, &options)?;
        let symbols = rewritten.symbols.to_bytes();
        let wasm = match way {
            Way::None => wasm,
            Way::Whamm => whamm::rewrite(job)?,
            _ => rewritten.wasm,
        };
        let module = Module::new(engine, wasm)?;
        Ok(Compiled { engine, job, way, module, symbols, trace: child.folder.join(TRACE) })
    }

    fn run(&self) -> anyhow::Result<Measured> {
        let out = real::out()?;
        let wasi = match self.job.workload {
            Workload::Real(program) => program.wasi(&self.job.root, out.path())?,
            _ => WasiCtxBuilder::new().args(&["life", "500"]).build_p1(),
        };
        let mut guest = Guest::new(self.engine, wasi)?;
        let builder = || Recorder::builder().calibrate(false).symbols(self.symbols.clone());
        if let Some((inside, clock, target)) = self.way.recorder() {
            let clock = match clock {
                Clock::Standing => ClockChoice::Ticker { period: STANDING },
                Clock::Precise => ClockChoice::Precise,
                Clock::Ticker => ClockChoice::ticker(),
            };
            return guest.recorded(self, builder().clock(clock), (inside, target));
        }
        match self.way {
            Way::None => guest.plain(self),
            Way::Empty => {
                guest.linker.func_wrap("kperf", "enter", |_: u32| -> u32 { 1 })?;
                guest.linker.func_wrap("kperf", "leave", |_: u32| ())?;
                guest.linker.func_wrap("kperf", "unwind", |_: u32| ())?;
                guest.linker.func_wrap("kperf", "depth", || -> u32 { 0 })?;
                guest.linker.func_wrap("kperf", "close", |_: u32, _: u32| ())?;
                guest.plain(self)
            }
            Way::Off => {
                let recorder = builder().sink(std::io::sink()).build(self.engine)?;
                let lanes = recorder.link_inlined(&mut guest.store, &mut guest.linker)?;
                lanes.set_recording(&mut guest.store, false);
                let mut measured = guest.plain(self)?;
                ensure!(lanes.lanes().len() == 1, "the probes are gone");
                measured.events = Some(recorder.finish("completed")?.events);
                ensure!(measured.events == Some(0), "events while switched off: {measured:?}");
                Ok(measured)
            }
            Way::Profile { .. } | Way::Native => guest.profiled(self, builder()),
            Way::Whamm => {
                let events = Some(whamm::events(self.engine, &self.module, self.job)?);
                whamm::link(&mut guest.linker, &mut guest.store, &self.job.root)?;
                Ok(Measured { events, ..guest.plain(self)? })
            }
            Way::Recorder { .. } | Way::Counted => bail!("{:?} was done above", self.way),
            Way::GuestProfiler | Way::Kieker | Way::OpenTelemetry => {
                bail!("{:?} is another program's", self.way)
            }
        }
    }

    /// The folder that it writes into.
    fn folder(&self) -> anyhow::Result<&Path> {
        self.trace.parent().context("no folder")
    }
}

/// Which functions have probes.
pub(crate) fn filter(job: &Job) -> anyhow::Result<Filter> {
    let only = job.workload.probed().map(Pattern::parse).transpose()?;
    Ok(Filter { only: only.into_iter().collect(), ..Filter::default() })
}

pub(crate) fn engine() -> anyhow::Result<Engine> {
    let mut config = Config::new();
    Recorder::configure(&mut config);
    config.wasm_gc(true).wasm_function_references(true).wasm_exceptions(true).wasm_tail_call(true);
    Ok(Engine::new(&config)?)
}

/// A store and a linker for one run.
pub(crate) struct Guest {
    pub(crate) store: Store<WasiP1Ctx>,
    pub(crate) linker: Linker<WasiP1Ctx>,
}

impl Guest {
    pub(crate) fn new(engine: &Engine, wasi: WasiP1Ctx) -> anyhow::Result<Guest> {
        let mut linker = Linker::new(engine);
        p1::add_to_linker_sync(&mut linker, |wasi| wasi)?;
        Ok(Guest { store: Store::new(engine, wasi), linker })
    }

    /// Makes a published program ready.
    pub(crate) fn prepare(&mut self, program: Program, module: &Module, root: &Path) -> anyhow::Result<Work> {
        program.prepare(&mut self.store, &mut self.linker, module, root)
    }

    /// Runs it; answers the times of its batches.
    fn batches(&mut self, Compiled { module, job, .. }: &Compiled<'_>) -> anyhow::Result<Measured> {
        if let Workload::Real(program) = job.workload {
            let work = self.prepare(program, module, &job.root)?;
            return measured(|batches| {
                let begun = Instant::now();
                work.run(&mut self.store)?;
                batches.push(nanos_since(begun));
                Ok(())
            });
        }
        let instance = self.linker.instantiate(&mut self.store, module)?;
        let Some((export, argument)) = job.workload.export() else {
            let start = instance.get_typed_func::<(), ()>(&mut self.store, "_start")?;
            return measured(|batches| {
                let begun = Instant::now();
                let result = start.call(&mut self.store, ());
                batches.push(nanos_since(begun));
                match result {
                    Err(error) if error.downcast_ref::<I32Exit>().is_none_or(|exit| exit.0 != 0) => {
                        Err(error.into())
                    }
                    _ => Ok(()),
                }
            });
        };
        if let Ok(initialize) = instance.get_typed_func::<(), ()>(&mut self.store, "_initialize") {
            initialize.call(&mut self.store, ())?;
        }
        let export = instance.get_typed_func::<(u32, u32), u32>(&mut self.store, export)?;
        let ((size, count), answer) = (job.batches(), job.answer());
        measured(|batches| {
            batches.reserve(count as usize);
            for _ in 0..count {
                let begun = Instant::now();
                let answered = export.call(&mut self.store, (size, argument))?;
                batches.push(nanos_since(begun));
                ensure!(answered == answer, "a batch answers {answered} where {answer} is right");
            }
            Ok(())
        })
    }

    fn plain(&mut self, compiled: &Compiled<'_>) -> anyhow::Result<Measured> {
        let mut measured = self.batches(compiled)?;
        measured.whole_nanos = measured.nanos();
        Ok(measured)
    }

    fn profiled(mut self, compiled: &Compiled<'_>, builder: Builder) -> anyhow::Result<Measured> {
        let trace = &compiled.trace;
        let recorder = builder.sink(File::create(trace)?).build(self.store.engine())?;
        if is_native(&compiled.module) {
            recorder.native_code(&compiled.module, &compiled.symbols)?;
        }
        let lanes = recorder.link_inlined(&mut self.store, &mut self.linker)?;
        let begun = Instant::now();
        let measured = self.batches(compiled)?;
        ensure!(lanes.profiles() == 1, "the probes are gone");
        recorder.finish("completed")?;
        let whole_nanos = nanos_since(begun);
        let counted = counted(trace)?;
        let expected = compiled.job.calls_of_monitored();
        match compiled.job.workload.probed() {
            Some(_) => ensure!(counted == expected, "{counted} calls counted where {expected} are right"),
            None => ensure!(counted >= expected, "{counted} calls counted, which are too few"),
        }
        // As many events as a trace would have.
        let bytes = folder_size(compiled.folder()?)?;
        Ok(Measured { whole_nanos, events: Some(2 * counted), bytes, ..measured })
    }

    fn recorded(
        mut self,
        compiled: &Compiled<'_>,
        builder: Builder,
        (inside, target): (bool, Target),
    ) -> anyhow::Result<Measured> {
        let Compiled { job, trace, .. } = compiled;
        let mut sending: Option<Sending> = None;
        let builder = match target {
            Target::Nowhere => builder.sink(std::io::sink()),
            Target::File | Target::Text => builder.sink(File::create(trace)?),
            Target::Otlp => {
                let config = Settings { endpoint: job.endpoint.clone(), ..Settings::default() }.config()?;
                let (sink, begun) = exporter::sink(config, SpanOptions::default())?;
                sending = Some(begun);
                builder.sink(sink)
            }
        };
        let recorder = builder.build(self.store.engine())?;
        let lanes: Option<Inlined> = if inside {
            Some(recorder.link_inlined(&mut self.store, &mut self.linker)?)
        } else {
            recorder.link(&mut self.store, &mut self.linker)?;
            None
        };
        let begun = Instant::now();
        let measured = self.batches(compiled)?;
        let summary = recorder.finish("completed")?;
        if target == Target::Text {
            to_text(trace, compiled.folder()?)?;
        }
        if let Some(sending) = sending {
            let delivery = sending.wait();
            ensure!(delivery.is_complete(), "not every span was acknowledged\n{delivery}");
        }
        let whole_nanos = nanos_since(begun);
        ensure!(lanes.is_none_or(|lanes| lanes.lanes().len() == 1), "the probes are gone");
        ensure!(summary.dropped_events == 0, "{summary:?}");
        let expected = 2 * job.calls_of_monitored();
        match job.workload.probed() {
            Some(_) => {
                ensure!(summary.events == expected, "{} events where {expected} are right", summary.events)
            }
            None => ensure!(summary.events >= expected, "{} events, which are too few", summary.events),
        }
        let bytes = if target == Target::Nowhere { 0 } else { folder_size(compiled.folder()?)? };
        Ok(Measured { whole_nanos, events: Some(summary.events), bytes, ..measured })
    }
}

/// What `work` says of its batches, and for how long this thread ran meanwhile.
fn measured(work: impl FnOnce(&mut Vec<f64>) -> anyhow::Result<()>) -> anyhow::Result<Measured> {
    let mut batches = Vec::new();
    let before = processor_nanos();
    work(&mut batches)?;
    let thread_nanos = processor_nanos().zip(before).map(|(after, before)| after - before);
    Ok(Measured { batches, thread_nanos, ..Measured::default() })
}

/// Nanoseconds that this thread has run; `None` where nobody counts them.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
pub(crate) fn processor_nanos() -> Option<f64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes to the one place that it is given.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    (failed == 0).then_some(time.tv_sec as f64 * 1e9 + time.tv_nsec as f64)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn processor_nanos() -> Option<f64> {
    None
}

/// How many calls a profile has counted.
pub(crate) fn counted(trace: &Path) -> anyhow::Result<u64> {
    let profile = Profile::read(TraceReader::new(File::open(trace)?)?, |_| ())?;
    Ok(profile.tree.iter().map(|(_, node)| node.calls).sum())
}

/// As a user does it; answers the nanoseconds.
pub(crate) fn to_text(trace: &Path, folder: &Path) -> anyhow::Result<f64> {
    let begun = Instant::now();
    let mut command = Command::new(env!("CARGO_BIN_EXE_kperf-wasm"));
    let status = command.args(["export", "--format", "kperf", "-o"]).arg(folder).arg(trace).status()?;
    ensure!(status.success(), "the export failed");
    Ok(nanos_since(begun))
}

/// The bytes of all files in a folder.
pub(crate) fn folder_size(folder: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder).context("the child's folder")? {
        let entry = entry?;
        bytes +=
            if entry.file_type()?.is_dir() { folder_size(&entry.path())? } else { entry.metadata()?.len() };
    }
    Ok(bytes)
}

fn nanos_since(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1e9
}
