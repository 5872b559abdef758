//! Opens traces, and prints what is wrong with them.

pub mod dataset;
mod log;

use crate::shared::flags::filters::CallSelection;
use crate::shared::input;
use crate::shared::output;
use crate::shared::symbols::SymbolArgs;
use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use kperf_profile::{CallFilter, CallObserver, FlatProfile, Health, Heap, Profile, Shortened};
use kperf_trace::{ClockKind, Item, ProbeCost, TraceReader};
use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Read};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Large enough to use a disk's full bandwidth.
const BUFFER: usize = 1 << 20;
/// A reading that takes longer has a progress bar: a small trace may have as many events as a large one.
const WORTH_A_BAR: Duration = Duration::from_secs(1);

/// Where a trace is read from.
pub type Input = BufReader<Box<dyn Read>>;

/// A trace that is being read, and its progress.
pub struct Trace {
    /// The trace's reader.
    pub reader: TraceReader<Input>,
    /// Shown on stderr if that is a terminal and the file is large.
    pub progress: ProgressBar,
    /// What one reading before found out, if there was one.
    pub scan: Scan,
}

/// What a first reading of a trace finds out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scan {
    /// When the trace begins, in ticks.
    beginning: Option<u64>,
    /// The distance of two ticks or samples, if times are no finer than that.
    pub resolution_nanos: Option<f64>,
}

/// The cost of the probes to subtract from each call, if `wanted`. Fails if the trace doesn't have it.
pub fn compensation(profile: &Profile, wanted: bool) -> anyhow::Result<Option<ProbeCost>> {
    match profile.compensation() {
        Ok(cost) => Ok(Some(cost).filter(|_| wanted)),
        Err(_) if !wanted => Ok(None),
        Err(why) => bail!("the cost of probes can't be subtracted in this trace: {why}"),
    }
}

impl Scan {
    /// Reads a trace to its end: its first lane may be anywhere.
    fn of(reader: &mut TraceReader<Input>, mut progress: impl FnMut(u64)) -> io::Result<Scan> {
        let (mut beginning, mut period_nanos): (Option<u64>, Option<u64>) = (None, None);
        while let Some(item) = reader.next()? {
            let start_ticks = match item {
                Item::Events(batch) | Item::Spans(batch) => batch.start_ticks,
                Item::Window(window) => {
                    period_nanos = period_nanos.max(Some(window.period_nanos));
                    window.start_ticks
                }
                _ => continue,
            };
            beginning = Some(beginning.map_or(start_ticks, |first| first.min(start_ticks)));
            progress(reader.offset());
        }
        let ticks = reader.summary().map(|summary| summary.ticks).filter(|ticks| ticks.squares > 0.0);
        let is_ticker = reader.header().clock.kind == ClockKind::Ticker;
        let of_ticker = ticks.filter(|_| is_ticker).map(|ticks| ticks.resolution_nanos());
        Ok(Scan { beginning, resolution_nanos: period_nanos.map(|period| period as f64).or(of_ticker) })
    }
}

/// Which trace is read, and how: a file, or stdin for `-`.
#[derive(Clone)]
pub struct Source<'a> {
    path: &'a Path,
    symbols: Option<&'a SymbolArgs>,
    calls: Option<&'a CallSelection<'a>>,
    /// Files with symbols must fit a module of the trace, and filters a function.
    must_match: bool,
    times: Times,
    progress: Progress,
}

/// What the times of a trace count from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Times {
    /// Its first lane: the trace is read once.
    FirstLane,
    /// Its earliest lane: a file is read once before for that. A pipe is not.
    EarliestLane,
}

/// Whether a progress bar is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Bar,
    Hidden,
}

/// A trace to be read: its path, or `-` for stdin.
pub fn source(path: &Path) -> Source<'_> {
    let (times, progress) = (Times::FirstLane, Progress::Bar);
    Source { path, symbols: None, calls: None, must_match: true, times, progress }
}

impl<'a> Source<'a> {
    /// Takes names from these files.
    pub fn symbols(self, symbols: &'a SymbolArgs) -> Source<'a> {
        Source { symbols: Some(symbols), ..self }
    }

    /// Only these calls are wanted. Names come from their files with symbols.
    pub fn calls(self, calls: &'a CallSelection<'a>) -> Source<'a> {
        Source { calls: Some(calls), symbols: Some(calls.symbols()), ..self }
    }

    /// Times are shown: they count from the earliest lane.
    pub fn with_times(self) -> Source<'a> {
        Source { times: Times::EarliestLane, ..self }
    }

    /// Filters and files with symbols may match nothing in this trace: they may be for another one.
    pub fn one_of_several(self) -> Source<'a> {
        Source { must_match: false, ..self }
    }

    /// Shows no progress bar if `quiet`.
    pub fn quiet(self, quiet: bool) -> Source<'a> {
        Source { progress: if quiet { Progress::Hidden } else { Progress::Bar }, ..self }
    }

    /// Opens the trace. It is read once before if that finds its beginning, which times count from.
    pub fn open(&self) -> anyhow::Result<Trace> {
        if self.needs_beginning() {
            return self.clone().rewindable()?.open();
        }
        self.named(self.stream()?)
    }

    /// Opens the trace to be read several times. What comes from a pipe is kept in memory.
    pub fn rewindable(self) -> anyhow::Result<RewindableTrace<'a>> {
        if self.path != Path::new("-") {
            input::refuse_folder(self.path)?;
        }
        let bytes = if can_be_read_twice(self.path) { None } else { Some(input::read(self.path)?.into()) };
        Ok(RewindableTrace { source: self, bytes, scan: Cell::new(None) })
    }

    /// The profile of the calls. Fails if a filter matches nothing.
    pub fn profile(&self) -> anyhow::Result<Profile> {
        self.observed(()).map(|(profile, ())| profile)
    }

    /// The profile of the calls, and the observer that has seen each of them. Fails if a filter matches nothing.
    pub fn observed<O: CallObserver>(&self, observer: O) -> anyhow::Result<(Profile, O)> {
        self.read(self.open()?, observer)
    }

    fn needs_beginning(&self) -> bool {
        self.calls.is_some_and(CallSelection::have_range)
            || self.times == Times::EarliestLane && can_be_read_twice(self.path)
    }

    fn failed(&self) -> String {
        format!("failed to read the trace `{}`", input::name(self.path))
    }

    fn stream(&self) -> anyhow::Result<Trace> {
        let failed = || self.failed();
        let (input, length): (Box<dyn Read>, Option<u64>) = if self.path == Path::new("-") {
            (Box::new(io::stdin()), None)
        } else {
            input::refuse_folder(self.path)?;
            let file = File::open(self.path).with_context(failed)?;
            let metadata = file.metadata().with_context(failed)?;
            (Box::new(file), metadata.is_file().then_some(metadata.len()))
        };
        let input = from_log(BufReader::with_capacity(BUFFER, input)).with_context(failed)?;
        let reader = TraceReader::new(input).with_context(failed)?;
        let progress = match length {
            Some(length) if self.progress == Progress::Bar => bar(length),
            _ => ProgressBar::hidden(),
        };
        Ok(Trace { reader, progress, scan: Scan::default() })
    }

    fn named(&self, trace: Trace) -> anyhow::Result<Trace> {
        let namer = match self.symbols {
            Some(symbols) => symbols.namer(self.path, self.must_match)?,
            None => SymbolArgs::default().namer(self.path, self.must_match)?,
        };
        Ok(Trace { reader: trace.reader.with_names(namer), ..trace })
    }

    /// Reads a trace to its end.
    fn read<O: CallObserver>(
        &self,
        Trace { reader, progress, .. }: Trace,
        observer: O,
    ) -> anyhow::Result<(Profile, O)> {
        let report = |bytes| progress.set_position(bytes);
        let keeps_lines = self.calls.is_none_or(|calls| calls.lines);
        let read = |filter: Option<&CallFilter<'_>>| match keeps_lines {
            true => Profile::read_observed(reader, observer, filter, report),
            false => Profile::read_without_code(reader, observer, filter, report),
        };
        let read = match self.calls.filter(|calls| !calls.are_all()) {
            Some(calls) => calls.with(|filter| read(Some(filter))),
            None => read(None),
        };
        progress.finish_and_clear();
        let (profile, observer) = read.with_context(|| self.failed())?;
        self.check_sampled(&profile)?;
        if let Some(calls) = self.calls.filter(|_| self.must_match) {
            calls.check(&profile.symbols, &profile.health, &profile.lanes)?;
        }
        Ok((profile, observer))
    }

    /// Fails if single calls of a sampled profile are wanted.
    fn check_sampled(&self, profile: &Profile) -> anyhow::Result<()> {
        if profile.sampling().is_some()
            && let Some(flag) = self.calls.and_then(CallSelection::of_single_calls)
        {
            bail!(
                "`{}` is a profile, which knows the times of single calls only if they are slow (`replay` lists these); \
                 remove {flag}",
                input::name(self.path)
            );
        }
        Ok(())
    }
}

/// A trace that can be opened several times.
pub struct RewindableTrace<'a> {
    source: Source<'a>,
    /// What came from a pipe.
    bytes: Option<Arc<[u8]>>,
    /// The first reading, if there was one.
    scan: Cell<Option<Scan>>,
}

impl RewindableTrace<'_> {
    /// Opens the trace at its beginning.
    pub fn open(&self) -> anyhow::Result<Trace> {
        let scan = if self.source.needs_beginning() { self.scan()? } else { Scan::default() };
        let Trace { reader, progress, .. } = self.source.named(self.stream()?)?;
        Ok(Trace { reader: reader.with_beginning(scan.beginning), progress, scan })
    }

    /// The profile of the calls. Fails if a filter matches nothing.
    pub fn profile(&self) -> anyhow::Result<Profile> {
        self.observed(()).map(|(profile, ())| profile)
    }

    /// The profile of the calls, and the observer that has seen each of them. Fails if a filter matches nothing.
    pub fn observed<O: CallObserver>(&self, observer: O) -> anyhow::Result<(Profile, O)> {
        self.source.read(self.open()?, observer)
    }

    fn stream(&self) -> anyhow::Result<Trace> {
        let Some(bytes) = &self.bytes else { return self.source.stream() };
        let input: Box<dyn Read> = Box::new(io::Cursor::new(bytes.clone()));
        let input = from_log(BufReader::new(input)).with_context(|| self.source.failed())?;
        let reader = TraceReader::new(input).with_context(|| self.source.failed())?;
        Ok(Trace { reader, progress: ProgressBar::hidden(), scan: Scan::default() })
    }

    /// Reads the trace once.
    fn scan(&self) -> anyhow::Result<Scan> {
        if let Some(scan) = self.scan.get() {
            return Ok(scan);
        }
        let Trace { mut reader, progress, .. } = self.stream()?;
        let scanned = Scan::of(&mut reader, |bytes| progress.set_position(bytes));
        progress.finish_and_clear();
        let scan = scanned.with_context(|| self.source.failed())?;
        self.scan.set(Some(scan));
        Ok(scan)
    }
}

/// The input, or the trace in its lines if it is the log of a module that records itself.
fn from_log(mut input: Input) -> anyhow::Result<Input> {
    /// Longer files that are no traces aren't searched.
    const LONGEST: u64 = 1 << 30;
    let begin = input.fill_buf()?;
    let is_text = |first: &u8| first.is_ascii_graphic() || first.is_ascii_whitespace();
    if input::is_trace(begin) || !begin.first().is_some_and(is_text) {
        return Ok(input);
    }
    let mut bytes = Vec::new();
    input.by_ref().take(LONGEST).read_to_end(&mut bytes)?;
    let bytes = log::trace(&bytes, |text| output::warn(text))?.unwrap_or(bytes);
    Ok(BufReader::new(Box::new(io::Cursor::new(bytes).chain(input))))
}

/// Whether opening the path again reads the same. Not so for stdin and pipes.
pub fn can_be_read_twice(path: &Path) -> bool {
    // If there is no such file, opening it gives the error.
    path != Path::new("-") && path.metadata().map_or(true, |metadata| metadata.is_file())
}

/// The progress of a reading, in bytes, if stderr is a terminal.
pub fn bar(length: u64) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::hidden());
    // If this template were wrong, the default style would do.
    if let Ok(style) =
        ProgressStyle::with_template("{bar:40} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left")
    {
        bar.set_style(style);
    }
    let later = bar.downgrade();
    // Without the thread there is no bar.
    let _ = thread::Builder::new().name("kperf-progress".into()).spawn(move || {
        thread::sleep(WORTH_A_BAR);
        if let Some(bar) = later.upgrade().filter(|bar| !bar.is_finished()) {
            bar.set_draw_target(ProgressDrawTarget::stderr());
            bar.enable_steady_tick(Duration::from_millis(200));
        }
    });
    bar
}

/// The profile of the chosen calls, with its tree split by the OpenTelemetry spans around calls, and the calls' allocations if they were
/// recorded. Fails if a filter matches nothing.
pub fn linked_profile(path: &Path, calls: &CallSelection<'_>) -> anyhow::Result<(Profile, Option<Heap>)> {
    let source = source(path).calls(calls);
    let Trace { reader, progress, .. } = source.open()?;
    let (report, heap) = (|bytes| progress.set_position(bytes), Heap::default());
    let read = if calls.are_all() {
        Profile::read_linked_observed(reader, heap, None, report)
    } else {
        calls.with(|filter| Profile::read_linked_observed(reader, heap, Some(filter), report))
    };
    progress.finish_and_clear();
    let (profile, heap) = read.with_context(|| source.failed())?;
    source.check_sampled(&profile)?;
    calls.check(&profile.symbols, &profile.health, &profile.lanes)?;
    if heap.records() == 0 {
        return Ok((profile, None));
    }
    if let Some(flag) = calls.of_parts() {
        output::warn(format_args!(
            "blocks are followed through the whole trace: with {flag} they are left out"
        ));
        return Ok((profile, None));
    }
    heap.warnings().iter().for_each(output::warn);
    Ok((profile, Some(heap)))
}

/// Warns if some paths of calls were shortened.
pub fn warn_shortened(shortened: Shortened) {
    if let Some(warning) = shortened.warning() {
        output::warn(warning);
    }
}

/// Warns of what makes a trace's figures doubtful.
pub fn report_health(health: &Health) {
    for warning in health.warnings() {
        output::warn(warning);
    }
}

/// Prints hints for better figures.
pub fn show_hints(profile: &Profile, compensated: bool) {
    let flat = FlatProfile::new(&profile.tree, &profile.symbols, &profile.header, None);
    for hint in kperf_profile::hints(profile, &flat, compensated) {
        output::hint(hint);
    }
}
