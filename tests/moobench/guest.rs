//! The child under wasmtime: one configuration, one run.

use crate::child::{ChildJob, Measured};
use crate::configuration::{Clock, Target, Way};
use crate::real;
use crate::workload::{Job, Workload};
use anyhow::{Context, bail, ensure};
use kperf_otlp::SpanOptions;
use kperf_otlp::exporter::{self, Sending, Settings};
use kperf_profile::Profile;
use kperf_rewriter::{Filter, Options, Pattern, rewrite};
use kperf_trace::TraceReader;
use kperf_wasmtime::{Builder, ClockChoice, Inlined, Recorder};
use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use wasmtime::{Config, Engine, Linker, Module, Store};
use wasmtime_wasi::p1::{self, WasiP1Ctx};
use wasmtime_wasi::{I32Exit, WasiCtxBuilder};

/// The longest period that a ticker may have: in a run of a second it ticks once or twice.
const STANDING: Duration = Duration::from_secs(1);

/// Runs a job in this process.
pub(crate) fn run(child: &ChildJob) -> anyhow::Result<Measured> {
    let job = &child.job;
    let wasm = std::fs::read(job.workload.module(&job.root))?;
    let (probe, leaf) = (child.way.probe(), child.way.leaf());
    let options = Options { probe, leaf, filter: filter(job)?, ..Options::default() };
    let rewritten = rewrite(&wasm, &options)?;
    let engine = engine()?;
    let module = Module::new(&engine, if child.way == Way::None { &wasm } else { &rewritten.wasm })?;
    let out = real::out()?;
    let mut guest = Guest::new(&engine, job, out.path())?;
    let symbols = rewritten.symbols.to_bytes();
    if let Some((inside, clock, target)) = child.way.recorder() {
        let clock = match clock {
            Clock::Standing => ClockChoice::Ticker { period: STANDING },
            Clock::Precise => ClockChoice::Precise,
            Clock::Ticker => ClockChoice::ticker(),
        };
        let builder = Recorder::builder().calibrate(false).clock(clock).inlined(inside).symbols(symbols);
        return guest.recorded(&module, child, builder, (inside, target));
    }
    match child.way {
        Way::None => guest.plain(&module, job),
        Way::Empty => {
            guest.linker.func_wrap("kperf", "enter", |_: u32| -> u32 { 1 })?;
            guest.linker.func_wrap("kperf", "leave", |_: u32| ())?;
            guest.linker.func_wrap("kperf", "unwind", |_: u32| ())?;
            guest.plain(&module, job)
        }
        Way::Off => {
            let builder = Recorder::builder().calibrate(false).symbols(symbols).sink(std::io::sink());
            let recorder = builder.build(&engine)?;
            let lanes = recorder.link_inlined(&mut guest.store, &mut guest.linker)?;
            lanes.set_recording(&mut guest.store, false);
            let mut measured = guest.plain(&module, job)?;
            ensure!(lanes.lanes().len() == 1, "the probes are gone");
            measured.events = Some(recorder.finish("completed")?.events);
            ensure!(measured.events == Some(0), "events while switched off: {measured:?}");
            Ok(measured)
        }
        Way::Profile { .. } => guest.profiled(&module, child, symbols),
        Way::Recorder { .. } | Way::Counted => bail!("{:?} was done above", child.way),
        Way::GuestProfiler | Way::Kieker | Way::OpenTelemetry => {
            bail!("{:?} is another program's", child.way)
        }
    }
}

/// Which functions have probes.
pub(crate) fn filter(job: &Job) -> anyhow::Result<Filter> {
    let only = job.workload.probed().map(Pattern::parse).transpose()?;
    Ok(Filter { only: only.into_iter().collect(), skip: Vec::new() })
}

fn engine() -> anyhow::Result<Engine> {
    let mut config = Config::new();
    Recorder::configure(&mut config);
    config.wasm_gc(true).wasm_function_references(true).wasm_exceptions(true).wasm_tail_call(true);
    Ok(Engine::new(&config)?)
}

struct Guest {
    store: Store<WasiP1Ctx>,
    linker: Linker<WasiP1Ctx>,
}

impl Guest {
    /// What a program writes goes to `out`.
    fn new(engine: &Engine, job: &Job, out: &Path) -> anyhow::Result<Guest> {
        let wasi = match job.workload {
            Workload::Real(program) => program.wasi(&job.root, out)?,
            _ => WasiCtxBuilder::new().args(&["life", "500"]).build_p1(),
        };
        Ok(Guest { store: Store::new(engine, wasi), linker: Linker::new(engine) })
    }

    /// Runs it; answers the nanoseconds of each batch.
    fn batches(&mut self, module: &Module, job: &Job) -> anyhow::Result<Vec<f64>> {
        p1::add_to_linker_sync(&mut self.linker, |wasi| wasi)?;
        if let Workload::Real(program) = job.workload {
            let work = program.prepare(&mut self.store, &mut self.linker, module, &job.root)?;
            let begun = Instant::now();
            work.run(&mut self.store)?;
            return Ok(vec![nanos_since(begun)]);
        }
        let instance = self.linker.instantiate(&mut self.store, module)?;
        let Some((export, argument)) = job.workload.export() else {
            let start = instance.get_typed_func::<(), ()>(&mut self.store, "_start")?;
            let begun = Instant::now();
            let result = start.call(&mut self.store, ());
            let nanos = nanos_since(begun);
            return match result {
                Err(error) if error.downcast_ref::<I32Exit>().is_none_or(|exit| exit.0 != 0) => {
                    Err(error.into())
                }
                _ => Ok(vec![nanos]),
            };
        };
        if let Ok(initialize) = instance.get_typed_func::<(), ()>(&mut self.store, "_initialize") {
            initialize.call(&mut self.store, ())?;
        }
        let export = instance.get_typed_func::<(u32, u32), u32>(&mut self.store, export)?;
        let ((size, count), answer) = (job.batches(), job.answer());
        let mut batches = Vec::with_capacity(count as usize);
        for _ in 0..count {
            let begun = Instant::now();
            let answered = export.call(&mut self.store, (size, argument))?;
            batches.push(nanos_since(begun));
            ensure!(answered == answer, "a batch answers {answered} where {answer} is right");
        }
        Ok(batches)
    }

    fn plain(&mut self, module: &Module, job: &Job) -> anyhow::Result<Measured> {
        let batches = self.batches(module, job)?;
        Ok(Measured { whole_nanos: batches.iter().sum(), batches, ..Measured::default() })
    }

    fn profiled(mut self, module: &Module, child: &ChildJob, symbols: Vec<u8>) -> anyhow::Result<Measured> {
        let trace = child.folder.join("guest.kperf");
        let builder = Recorder::builder().calibrate(false).symbols(symbols).sink(File::create(&trace)?);
        let recorder = builder.build(self.store.engine())?;
        let lanes = recorder.link_inlined(&mut self.store, &mut self.linker)?;
        let begun = Instant::now();
        let batches = self.batches(module, &child.job)?;
        ensure!(lanes.profiles() == 1, "the probes are gone");
        recorder.finish("completed")?;
        let whole_nanos = nanos_since(begun);
        let counted = counted(&trace)?;
        let expected = child.job.calls_of_monitored();
        match child.job.workload.probed() {
            Some(_) => ensure!(counted == expected, "{counted} calls counted where {expected} are right"),
            None => ensure!(counted >= expected, "{counted} calls counted, which are too few"),
        }
        // As many events as a trace would have.
        Ok(Measured { batches, whole_nanos, events: Some(2 * counted), bytes: folder_size(&child.folder)? })
    }

    fn recorded(
        mut self,
        module: &Module,
        child: &ChildJob,
        builder: Builder,
        (inside, target): (bool, Target),
    ) -> anyhow::Result<Measured> {
        let job = &child.job;
        let trace = child.folder.join("guest.kperf");
        let mut sending: Option<Sending> = None;
        let builder = match target {
            Target::Nowhere => builder.sink(std::io::sink()),
            Target::File | Target::Text => builder.sink(File::create(&trace)?),
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
        let batches = self.batches(module, job)?;
        let summary = recorder.finish("completed")?;
        if target == Target::Text {
            to_text(&trace, &child.folder)?;
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
        let bytes = if target == Target::Nowhere { 0 } else { folder_size(&child.folder)? };
        Ok(Measured { batches, whole_nanos, events: Some(summary.events), bytes })
    }
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
