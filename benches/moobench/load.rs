//! Are times true on a busy machine? While other processes use the processors too, compares each function's share of the guest's
//! time: by a trace with a ticker, and by a profile of the native stack. Also checks how much of the guest's time the trace has.

use crate::accuracy::{self, Times};
use crate::burners::Burners;
use crate::guest::{self, Guest};
use crate::real::{self, Program};
use crate::workload::Workload;
use anyhow::{Context, ensure};
use kperf_profile::{FlatProfile, Profile};
use kperf_rewriter::{Host, Options, Recording, rewrite};
use kperf_trace::TraceReader;
use kperf_wasmtime::{ClockChoice, HAS_NATIVE_STACKS, Recorder};
use std::path::Path;
use std::time::Instant;
use wasmtime::{Engine, Module};

/// How many busy processes there are beside the guest, on two processors.
pub(crate) const BUSY: [usize; 3] = [0, 2, 4];

/// What was seen of a program beside so many busy processes.
#[derive(Debug)]
pub(crate) struct Loaded {
    program: Program,
    busy: usize,
    /// Functions' shares of self time: by the trace, by the profile.
    shares: [Times; 2],
    /// The errors that reports say, in points, mean of all runs: the trace's, the profile's.
    errors: [Times; 2],
    /// Functions' names.
    names: Vec<(u32, String)>,
    /// The parts of the guest's wall time that the trace's self times make up, a part a run.
    accounted: Vec<f64>,
    /// Time between two ticks as one meets it by chance, in nanoseconds, a run each.
    resolutions: Vec<f64>,
}

/// Runs a program under both in turn, beside each number of busy processes.
pub(crate) fn measure(root: &Path, program: Program, rounds: usize) -> anyhow::Result<Vec<Loaded>> {
    if !HAS_NATIVE_STACKS {
        return Ok(Vec::new());
    }
    let engine = guest::engine()?;
    let wasm = std::fs::read(Workload::Real(program).module(root))?;
    let probed = |recording| {
        let options = Options { recording, imports: true, host: Host::harmless(), ..Options::default() };
        let rewritten = rewrite(&wasm, &options)?;
        anyhow::Ok((Module::new(&engine, &rewritten.wasm)?, rewritten.symbols))
    };
    let (traced, profiled) = (probed(Recording::inline())?, probed(Recording::Count)?);
    let symbols = profiled.1.symbols.iter();
    let names: Vec<_> =
        symbols.map(|symbol| (symbol.func_index.0, symbol.display_name().to_owned())).collect();
    BUSY.into_iter()
        .map(|busy| {
            let _burners = Burners::start(busy).context("failed to start busy processes")?;
            let mut loaded = Loaded {
                program,
                busy,
                shares: Default::default(),
                errors: Default::default(),
                names: names.clone(),
                accounted: Vec::new(),
                resolutions: Vec::new(),
            };
            for _ in 0..rounds {
                for only_timed in [false, true] {
                    trace(&engine, root, &traced, &mut loaded, only_timed)?;
                }
                let measured = accuracy::profile(&engine, root, program, &profiled)?;
                accuracy::add(&mut loaded.shares[1], measured.times);
                accuracy::add(&mut loaded.errors[1], measured.errors);
            }
            for errors in &mut loaded.errors {
                errors.values_mut().for_each(|error| *error /= rounds as f64);
            }
            loaded.shares = loaded.shares.map(|times| accuracy::shares(&times));
            Ok(loaded)
        })
        .collect()
}

/// One run with a ticker's trace: of everything, as the profile has it, or, to compare with the wall, of what is timed.
fn trace(
    engine: &Engine,
    root: &Path,
    (module, symbols): &accuracy::Probed,
    loaded: &mut Loaded,
    only_timed: bool,
) -> anyhow::Result<()> {
    let out = real::out()?;
    let file = tempfile::NamedTempFile::new_in(out.path())?;
    let mut guest = Guest::new(engine, loaded.program.wasi(root, out.path())?)?;
    let builder = Recorder::builder().clock(ClockChoice::ticker()).calibrate(false);
    let recorder = builder.symbols(symbols.to_bytes()).sink(file.reopen()?).build(engine)?;
    let lanes = recorder.link_inlined(&mut guest.store, &mut guest.linker)?;
    lanes.set_recording(&mut guest.store, !only_timed);
    let work = loaded.program.prepare(&mut guest.store, &mut guest.linker, module, root)?;
    lanes.set_recording(&mut guest.store, true);
    let begin = Instant::now();
    lanes.call(&mut guest.store, |store| work.run(store).map_err(wasmtime::Error::from_anyhow))?;
    let wall = begin.elapsed().as_nanos() as f64;
    recorder.finish("completed")?;
    let profile = Profile::read(TraceReader::new(&std::fs::read(file.path())?[..])?, |_| ())?;
    ensure!(profile.calls() >= real::CALLS, "{} calls recorded, which are too few", profile.calls());
    let flat = FlatProfile::new(&profile.tree, &profile.symbols, &profile.header, None);
    if only_timed {
        loaded.accounted.push(flat.whole_nanos() / wall);
        return Ok(());
    }
    loaded.resolutions.push(profile.ticks().context("it has no ticker")?.resolution_nanos());
    accuracy::add(&mut loaded.shares[0], accuracy::times(&flat, symbols));
    accuracy::add(&mut loaded.errors[0], accuracy::errors(&profile, &flat, symbols)?);
    Ok(())
}

impl Loaded {
    /// Each function's distance between the trace's share and the profile's, in points.
    fn distances(&self) -> impl Iterator<Item = (f64, u32, &str)> {
        let [trace, profile] = &self.shares;
        self.names.iter().map(|(index, name)| {
            (100.0 * (of(trace, *index) - of(profile, *index)).abs(), *index, name.as_str())
        })
    }

    /// How far the trace's share of a function is from the profile's at most, in points, which error the report says of it, and which
    /// function it is.
    fn furthest(&self) -> (f64, f64, &str) {
        let furthest = self.distances().max_by(|a, b| a.0.total_cmp(&b.0));
        furthest.map_or((0.0, 0.0, ""), |(points, index, name)| (points, of(&self.errors[0], index), name))
    }

    /// Of the functions with a hundredth of the time or more, so many have shares that agree within both errors; and all of these.
    fn covered(&self) -> [usize; 2] {
        let told = |index: &u32| self.shares.iter().any(|shares| of(shares, *index) >= 0.01);
        let told = self.distances().filter(|(_, index, _)| told(index));
        told.fold([0, 0], |[covered, all], (points, index, _)| {
            let error: f64 = self.errors.iter().map(|errors| of(errors, index)).sum();
            [covered + usize::from(points <= error), all + 1]
        })
    }
}

fn of(times: &Times, index: u32) -> f64 {
    times.get(&index).copied().unwrap_or_default()
}

/// The middle one.
fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A row for each program and number of busy processes.
pub(crate) fn table(measured: &[Loaded]) -> String {
    let mut text = String::from(
        "| program | busy processes | a tick in | self times, of the guest's wall time | furthest, points | its ± | covered by both ± | function |\n\
         |---|--:|--:|--:|--:|--:|--:|---|\n",
    );
    for one in measured {
        let (points, error, function) = one.furthest();
        let [covered, all] = one.covered();
        text += &format!(
            "| {} | {} | {:.0} us | {:.3} | {points:.1} | {error:.1} | {covered} of {all} | `{function}` |\n",
            one.program.name(),
            one.busy,
            median(&one.resolutions) / 1e3,
            median(&one.accounted),
        );
    }
    text
}
