//! Opens traces, and prints what is wrong with them.

pub mod dataset;

use crate::filters::Calls;
use crate::input;
use crate::output::tell;
use crate::symbols::SymbolArgs;
use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressStyle};
use kperf_otlp::{ProfileOptions, SlowFilter};
use kperf_profile::{CallFilter, CallObserver, FlatProfile, Health, Heap, Profile, Shortened, SlowSpans};
use kperf_trace::{Namer, ProbeCost, TraceReader, beginning};
use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Large enough to use a disk's full bandwidth.
const BUFFER: usize = 1 << 20;
/// A smaller trace is read before anybody could look at a progress bar.
const WORTH_A_BAR: u64 = 16 << 20;

/// Where a trace is read from.
pub type Input = BufReader<Box<dyn Read>>;

/// A trace that is being read, and its progress.
pub struct Trace {
    /// The trace's reader.
    pub reader: TraceReader<Input>,
    /// Shown on stderr if that is a terminal and the file is large.
    pub progress: ProgressBar,
}

/// The cost of the probes to subtract from each call, if `wanted`. Fails if the trace doesn't have it.
pub fn compensation(profile: &Profile, wanted: bool) -> anyhow::Result<Option<ProbeCost>> {
    match profile.compensation() {
        Ok(cost) => Ok(Some(cost).filter(|_| wanted)),
        Err(_) if !wanted => Ok(None),
        Err(why) => bail!("the cost of probes can't be subtracted in this trace: {why}"),
    }
}

/// Opens a trace: a file, or stdin for `-`. `quiet` leaves the progress bar out.
pub fn open(path: &Path, symbols: &SymbolArgs, quiet: bool) -> anyhow::Result<Trace> {
    Ok(open_unnamed(path, quiet)?.named_by(symbols.namer(path, true)?))
}

/// Opens a trace that calls are to be chosen from. If that is by their time, the whole of it is read once before.
pub fn open_for(path: &Path, calls: &Calls<'_>, quiet: bool) -> anyhow::Result<Trace> {
    if calls.have_range() {
        return Again::new(path)?.open_for(calls, quiet);
    }
    open(path, calls.symbols(), quiet)
}

/// Opens a trace that moments are to be told of, and calls chosen from. A file is read once before; a pipe is not, and the moments of its
/// first lane may not be the earliest.
pub fn open_timed(path: &Path, calls: &Calls<'_>, quiet: bool) -> anyhow::Result<Trace> {
    if can_be_read_twice(path) {
        return Again::new(path)?.open_timed(calls, quiet);
    }
    open_for(path, calls, quiet)
}

fn open_unnamed(path: &Path, quiet: bool) -> anyhow::Result<Trace> {
    let context = || format!("failed to read the trace `{}`", input::name(path));
    let (input, length): (Box<dyn Read>, Option<u64>) = if path == Path::new("-") {
        (Box::new(io::stdin()), None)
    } else {
        input::refuse_folder(path)?;
        let file = File::open(path).with_context(context)?;
        let metadata = file.metadata().with_context(context)?;
        (Box::new(file), metadata.is_file().then_some(metadata.len()))
    };
    let reader = TraceReader::new(BufReader::with_capacity(BUFFER, input)).with_context(context)?;
    let progress = match length {
        Some(length) if length >= WORTH_A_BAR && !quiet && io::stderr().is_terminal() => bar(length),
        _ => ProgressBar::hidden(),
    };
    Ok(Trace { reader, progress })
}

impl Trace {
    fn named_by(self, namer: Box<dyn Namer + Send>) -> Trace {
        Trace { reader: self.reader.with_names(namer), ..self }
    }
}

/// A trace that can be opened several times. What comes from a pipe is kept in memory.
pub struct Again {
    path: PathBuf,
    bytes: Option<Arc<[u8]>>,
    /// When it begins, once somebody has asked for that.
    beginning: Cell<Option<u64>>,
}

impl Again {
    /// A trace from a file, or from stdin for `-`.
    pub fn new(path: &Path) -> anyhow::Result<Again> {
        if path != Path::new("-") {
            input::refuse_folder(path)?;
        }
        let bytes = if can_be_read_twice(path) { None } else { Some(input::read(path)?.into()) };
        Ok(Again { path: path.to_owned(), bytes, beginning: Cell::new(None) })
    }

    /// Opens the trace at its beginning.
    pub fn open(&self, symbols: &SymbolArgs) -> anyhow::Result<Trace> {
        self.open_named(symbols, false, true)
    }

    /// The same, to choose calls from it.
    pub fn open_for(&self, calls: &Calls<'_>, quiet: bool) -> anyhow::Result<Trace> {
        if calls.have_range() {
            self.open_timed(calls, quiet)
        } else {
            self.open_named(calls.symbols(), quiet, true)
        }
    }

    /// The same, to tell of moments.
    fn open_timed(&self, calls: &Calls<'_>, quiet: bool) -> anyhow::Result<Trace> {
        self.find_beginning(quiet)?;
        self.open_named(calls.symbols(), quiet, true)
    }

    fn open_named(&self, symbols: &SymbolArgs, quiet: bool, must_fit: bool) -> anyhow::Result<Trace> {
        let Trace { reader, progress } =
            self.open_unnamed(quiet)?.named_by(symbols.namer(&self.path, must_fit)?);
        Ok(Trace { reader: reader.with_beginning(self.beginning.get()), progress })
    }

    fn open_unnamed(&self, quiet: bool) -> anyhow::Result<Trace> {
        let Some(bytes) = &self.bytes else { return open_unnamed(&self.path, quiet) };
        let input: Box<dyn Read> = Box::new(io::Cursor::new(bytes.clone()));
        let reader = TraceReader::new(BufReader::new(input))
            .with_context(|| format!("failed to read the trace `{}`", input::name(&self.path)))?;
        Ok(Trace { reader, progress: ProgressBar::hidden() })
    }

    fn find_beginning(&self, quiet: bool) -> anyhow::Result<()> {
        if self.beginning.get().is_none() {
            let Trace { reader, progress } = self.open_unnamed(quiet)?;
            let found = beginning(reader, |bytes| progress.set_position(bytes));
            progress.finish_and_clear();
            self.beginning.set(
                found.with_context(|| format!("failed to read the trace `{}`", input::name(&self.path)))?,
            );
        }
        Ok(())
    }

    /// The profile of the chosen calls. Fails if a filter matches nothing.
    pub fn profile_of(&self, calls: &Calls<'_>) -> anyhow::Result<Profile> {
        self.profile_observed(calls, ()).map(|(profile, ())| profile)
    }

    /// The profile of the chosen calls, and the observer that has seen each of them. Fails if a filter matches nothing.
    pub fn profile_observed<O: CallObserver>(
        &self,
        calls: &Calls<'_>,
        observer: O,
    ) -> anyhow::Result<(Profile, O)> {
        read(&self.path, self.open_for(calls, false)?, calls, observer)
    }
}

/// Whether opening the path again reads the same. Not so for stdin and pipes.
pub fn can_be_read_twice(path: &Path) -> bool {
    // If there is no such file, opening it gives the error.
    path != Path::new("-") && path.metadata().map_or(true, |metadata| metadata.is_file())
}

fn bar(length: u64) -> ProgressBar {
    let bar = ProgressBar::new(length);
    // If this template were wrong, the default style would do.
    if let Ok(style) =
        ProgressStyle::with_template("{bar:40} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left")
    {
        bar.set_style(style);
    }
    bar
}

/// The profile of a trace: a file, or stdin for `-`.
pub fn profile(path: &Path, symbols: &SymbolArgs) -> anyhow::Result<Profile> {
    let Trace { reader, progress } = open(path, symbols, false)?;
    let profile = Profile::read(reader, |bytes| progress.set_position(bytes));
    progress.finish_and_clear();
    profile.with_context(|| format!("failed to read the trace `{}`", input::name(path)))
}

/// The profile of the chosen calls of a trace. Fails if a filter matches nothing.
pub fn profile_of(path: &Path, calls: &Calls<'_>) -> anyhow::Result<Profile> {
    profile_observed(path, calls, ()).map(|(profile, ())| profile)
}

/// The profile of the chosen calls of a trace, and the observer that has seen each of them. Fails if a filter matches
/// nothing.
pub fn profile_observed<O: CallObserver>(
    path: &Path,
    calls: &Calls<'_>,
    observer: O,
) -> anyhow::Result<(Profile, O)> {
    read(path, open_for(path, calls, false)?, calls, observer)
}

/// The profile of the chosen calls of a trace, whose tree is split by the spans of OpenTelemetry's that calls fall into, and what these
/// calls allocated, where that was recorded. Fails if a filter matches nothing.
pub fn linked_profile(
    path: &Path,
    calls: &Calls<'_>,
    options: &ProfileOptions,
) -> anyhow::Result<(Profile, Option<Heap>)> {
    let again = Again::new(path)?;
    let failed = || format!("failed to read the trace `{}`", input::name(path));
    let read = |slow: SlowSpans| -> anyhow::Result<(Profile, Heap)> {
        let Trace { reader, progress } = again.open_for(calls, false)?;
        let report = |bytes| progress.set_position(bytes);
        let heap = Heap::default();
        let read = if calls.are_all() {
            Profile::read_linked_observed(reader, slow, heap, None, report)
        } else {
            calls.with(|filter| Profile::read_linked_observed(reader, slow, heap, Some(filter), report))
        };
        progress.finish_and_clear();
        let (profile, heap) = read.with_context(failed)?;
        check_sampled(path, calls, &profile)?;
        Ok((profile, heap))
    };
    let (mut profile, heap) = read(SlowSpans::default())?;
    if profile.sampling().is_some() {
        // Only now it is known that there are windows. A profile is short.
        let reader = again.open(calls.symbols())?.reader;
        let slow = calls.with(|filter| {
            let keep = |func| (filter.keep)(&profile.symbols.name(func));
            kperf_otlp::slow_spans(reader, options, Some(SlowFilter { keep: &keep, depth: filter.depth }))
        });
        let slow = slow.with_context(failed)?;
        if !slow.is_empty() {
            (profile, _) = read(slow)?;
        }
    }
    calls.check(&profile.symbols, &profile.health, &profile.lanes)?;
    if heap.records() == 0 {
        return Ok((profile, None));
    }
    if let Some(flag) = calls.of_parts() {
        tell(format_args!("warning: blocks are followed through the whole trace, so {flag} leaves them out"));
        return Ok((profile, None));
    }
    heap.warnings().iter().for_each(|warning| tell(format_args!("warning: {warning}")));
    Ok((profile, Some(heap)))
}

/// [`profile_of`], but a filter may match nothing, and a file with symbols no module: they may be of another trace.
pub fn profile_of_one(path: &Path, calls: &Calls<'_>) -> anyhow::Result<Profile> {
    let trace = if calls.have_range() {
        let again = Again::new(path)?;
        again.find_beginning(false)?;
        again.open_named(calls.symbols(), false, false)?
    } else {
        open_unnamed(path, false)?.named_by(calls.symbols().namer(path, false)?)
    };
    read_unchecked(path, trace, calls, ()).map(|(profile, ())| profile)
}

/// Reads a trace to its end.
fn read<O: CallObserver>(
    path: &Path,
    trace: Trace,
    calls: &Calls<'_>,
    observer: O,
) -> anyhow::Result<(Profile, O)> {
    let (profile, observer) = read_unchecked(path, trace, calls, observer)?;
    calls.check(&profile.symbols, &profile.health, &profile.lanes)?;
    Ok((profile, observer))
}

fn read_unchecked<O: CallObserver>(
    path: &Path,
    Trace { reader, progress }: Trace,
    calls: &Calls<'_>,
    observer: O,
) -> anyhow::Result<(Profile, O)> {
    let report = |bytes| progress.set_position(bytes);
    let read = |filter: Option<&CallFilter<'_>>| match calls.lines {
        true => Profile::read_observed(reader, observer, filter, report),
        false => Profile::read_without_code(reader, observer, filter, report),
    };
    let read = if calls.are_all() { read(None) } else { calls.with(|filter| read(Some(filter))) };
    progress.finish_and_clear();
    let (profile, observer) =
        read.with_context(|| format!("failed to read the trace `{}`", input::name(path)))?;
    check_sampled(path, calls, &profile)?;
    Ok((profile, observer))
}

/// Fails if a profile that was sampled is asked for single calls.
fn check_sampled(path: &Path, calls: &Calls<'_>, profile: &Profile) -> anyhow::Result<()> {
    if profile.sampling().is_some()
        && let Some(flag) = calls.of_single_calls()
    {
        bail!(
            "`{}` is a profile, which knows the times of single calls only if they are slow (`replay` lists these); leave \
             {flag} out",
            input::name(path)
        );
    }
    Ok(())
}

/// Warns on stderr if some paths of calls were shortened.
pub fn tell_shortened(shortened: Shortened) {
    if let Some(warning) = shortened.warning() {
        tell(format_args!("warning: {warning}"));
    }
}

/// Prints on stderr what makes a trace's figures doubtful.
pub fn tell_warnings(health: &Health) {
    for warning in health.warnings() {
        tell(format_args!("warning: {warning}"));
    }
}

/// Prints on stderr what to do about figures that say little.
pub fn tell_hints(profile: &Profile, compensated: bool) {
    let flat = FlatProfile::new(&profile.tree, &profile.symbols, &profile.header, None);
    for hint in kperf_profile::hints(profile, &flat, compensated) {
        tell(format_args!("hint: {hint}"));
    }
}
