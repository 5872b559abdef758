//! What a full trace of a real program takes, for seconds, to a file, and who takes it: the guest's own thread (of which handing
//! blocks over, and waiting for room), the writer, the ticker. Programs without probes run in turn with those that have them.

pub(crate) mod node;

use crate::guest::{self, Guest};
use crate::real;
use crate::workload::Workload;
use anyhow::{Context, ensure};
use kperf_rewriter::{Options, Recording, rewrite};
use kperf_wasmtime::{ClockChoice, Recorder};
use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};
use wasmtime::{Engine, Module};
use wasmtime_wasi::{I32Exit, WasiCtxBuilder};

/// A program runs again and again until its runs together have taken so long.
pub(crate) const LONG: Duration = Duration::from_secs(2);

/// What was seen of a program. Figures are of the rounds that took the least time; those of the guest's thread of the run in all of
/// them that took it least.
#[derive(Debug)]
pub(crate) struct Sustained {
    workload: Workload,
    plain: Part,
    recorded: Recorded,
}

/// Runs with a trace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recorded {
    pub(crate) guest: Part,
    /// Calls of a run.
    pub(crate) calls: f64,
    /// Nanoseconds of a run.
    flush: f64,
    waits: f64,
    writer: f64,
    ticker: f64,
    /// How much longer than the guests it took until the file was complete, as a part of their time.
    late: f64,
}

/// Nanoseconds of a run; of several under wasmtime the mean by the wall, and the least that the guest's thread took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) wall: f64,
    thread: f64,
}

/// Runs a program with and without probes in turn, for some rounds.
pub(crate) fn measure(root: &Path, workload: &Workload, rounds: usize) -> anyhow::Result<Sustained> {
    let engine = guest::engine()?;
    let wasm = std::fs::read(workload.module(root))?;
    let rewritten = rewrite(&wasm, &Options { recording: Recording::inline(), ..Options::default() })?;
    let program = Runs { engine: &engine, root, workload };
    let (plain, probed) = (Module::new(&engine, &wasm)?, Module::new(&engine, &rewritten.wasm)?);
    let symbols = rewritten.symbols.to_bytes();
    // Once for what only the first run has.
    program.once(&plain, |_| Ok(()))?;
    let (mut plains, mut traced) = (Vec::new(), Vec::new());
    for _ in 0..rounds.max(1) {
        plains.push(program.many(&plain, |_| Ok(()))?.0);
        traced.push(program.recorded(&probed, &symbols, ClockChoice::ticker())?);
    }
    let threads = [
        least(plains.iter().map(|plain| plain.thread)),
        least(traced.iter().map(|recorded| recorded.guest.thread)),
    ];
    let plain = plains.into_iter().min_by(|a, b| a.wall.total_cmp(&b.wall));
    let recorded = traced.into_iter().min_by(|a, b| a.guest.wall.total_cmp(&b.guest.wall));
    let (mut plain, mut recorded) = plain.zip(recorded).context("no rounds")?;
    [plain.thread, recorded.guest.thread] = threads;
    Ok(Sustained { workload: workload.clone(), plain, recorded })
}

/// `NaN` of none.
fn least(nanos: impl Iterator<Item = f64>) -> f64 {
    nanos.fold(f64::NAN, f64::min)
}

/// A program that is run.
pub(crate) struct Runs<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) root: &'a Path,
    pub(crate) workload: &'a Workload,
}

impl Runs<'_> {
    /// Runs it once. `link` says what probes need.
    fn once(
        &self,
        module: &Module,
        link: impl FnOnce(&mut Guest) -> anyhow::Result<()>,
    ) -> anyhow::Result<Part> {
        let out = real::out()?;
        let wasi = match self.workload {
            Workload::Real(program) => program.wasi(self.root, out.path())?,
            _ => WasiCtxBuilder::new().args(&["life", "2000"]).build_p1(),
        };
        let mut guest = Guest::new(self.engine, wasi)?;
        link(&mut guest)?;
        let timed = |work: &mut dyn FnMut() -> anyhow::Result<()>| {
            let (begun, thread) = (Instant::now(), guest::processor_nanos());
            work()?;
            let thread = guest::processor_nanos().zip(thread).map_or(f64::NAN, |(end, begun)| end - begun);
            Ok(Part { wall: begun.elapsed().as_nanos() as f64, thread })
        };
        if let Workload::Real(program) = *self.workload {
            let work = guest.prepare(program, module, self.root)?;
            return timed(&mut || work.run(&mut guest.store));
        }
        let instance = guest.linker.instantiate(&mut guest.store, module)?;
        let start = instance.get_typed_func::<(), ()>(&mut guest.store, "_start")?;
        timed(&mut || match start.call(&mut guest.store, ()) {
            Err(error) if error.downcast_ref::<I32Exit>().is_none_or(|exit| exit.0 != 0) => Err(error.into()),
            _ => Ok(()),
        })
    }

    /// Runs it for [`LONG`]; answers what it took, and the number of runs.
    pub(crate) fn many(
        &self,
        module: &Module,
        link: impl Fn(&mut Guest) -> anyhow::Result<()>,
    ) -> anyhow::Result<(Part, f64)> {
        let (mut wall, mut thread, mut runs) = (0.0, f64::NAN, 0.0);
        while wall < LONG.as_nanos() as f64 {
            let part = self.once(module, &link)?;
            wall += part.wall;
            thread = part.thread.min(thread);
            runs += 1.0;
        }
        Ok((Part { wall: wall / runs, thread }, runs))
    }

    /// The trace of one run.
    pub(crate) fn trace(
        &self,
        module: &Module,
        symbols: &[u8],
        clock: ClockChoice,
    ) -> anyhow::Result<Vec<u8>> {
        let out = real::out()?;
        let file = out.path().join("guest.kperf");
        let recorder = self.recorder(&file, symbols, clock)?;
        self.once(module, |guest| {
            recorder.link_inlined(&mut guest.store, &mut guest.linker)?;
            Ok(())
        })?;
        recorder.finish("completed")?;
        Ok(std::fs::read(file)?)
    }

    fn recorder(&self, file: &Path, symbols: &[u8], clock: ClockChoice) -> anyhow::Result<Recorder> {
        let builder = Recorder::builder().clock(clock).calibrate(false).symbols(symbols);
        Ok(builder.sink(File::create(file)?).build(self.engine)?)
    }

    /// Runs it for [`LONG`] with a trace to a file.
    pub(crate) fn recorded(
        &self,
        module: &Module,
        symbols: &[u8],
        clock: ClockChoice,
    ) -> anyhow::Result<Recorded> {
        let out = real::out()?;
        let recorder = self.recorder(&out.path().join("guest.kperf"), symbols, clock)?;
        let begun = Instant::now();
        let (guest, runs) = self.many(module, |guest| {
            recorder.link_inlined(&mut guest.store, &mut guest.linker)?;
            Ok(())
        })?;
        let until_guests_end = begun.elapsed().as_secs_f64();
        let [writer, ticker] = ["kperf-writer", "kperf-ticker"].map(|name| thread_nanos(name) / runs);
        let stats = recorder.stats();
        let summary = recorder.finish("completed")?;
        let late = begun.elapsed().as_secs_f64() / until_guests_end - 1.0;
        ensure!(summary.dropped_events == 0, "{summary:?}");
        Ok(Recorded {
            guest,
            calls: summary.events as f64 / 2.0 / runs,
            flush: (stats.flush_nanos - stats.waits.nanos.min(stats.flush_nanos)) as f64 / runs,
            waits: stats.waits.nanos as f64 / runs,
            writer,
            ticker,
            late,
        })
    }
}

/// Nanoseconds that the thread of this name has run; `NaN` where nobody counts them.
fn thread_nanos(name: &str) -> f64 {
    let nanos = |task: std::io::Result<std::fs::DirEntry>| {
        let folder = task.ok()?.path();
        let comm = std::fs::read_to_string(folder.join("comm")).ok()?;
        let times = std::fs::read_to_string(folder.join("schedstat")).ok().filter(|_| comm.trim() == name)?;
        times.split(' ').next()?.parse::<f64>().ok()
    };
    let tasks = std::fs::read_dir("/proc/self/task");
    tasks.ok().and_then(|tasks| tasks.filter_map(nanos).next()).unwrap_or(f64::NAN)
}

/// A row for each program.
pub(crate) fn table(measured: &[Sustained]) -> String {
    let mut text = String::from(
        "| program | M calls a run | ms without probes | added by the wall | on the guest's thread | of that, handing over | \
         waiting | writer | ticker | file complete |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for Sustained { workload, plain, recorded } in measured {
        let a_call = |nanos: f64| nanos / recorded.calls;
        text += &format!(
            "| {workload} | {:.1} | {:.0} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | +{:.1} % |\n",
            recorded.calls / 1e6,
            plain.wall / 1e6,
            a_call(recorded.guest.wall - plain.wall),
            a_call(recorded.guest.thread - plain.thread),
            a_call(recorded.flush),
            a_call(recorded.waits),
            a_call(recorded.writer),
            a_call(recorded.ticker),
            100.0 * recorded.late,
        );
    }
    text
}
