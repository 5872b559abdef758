//! Opening traces, and telling what is wrong with them.

use crate::filters::Calls;
use crate::input;
use crate::output::tell;
use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressStyle};
use kperf_profile::{CallObserver, Health, Profile};
use kperf_trace::TraceReader;
use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Large enough that a read takes its whole share of a disk's bandwidth.
const BUFFER: usize = 1 << 20;
/// Below this a bar would be gone before anybody could look at it.
const WORTH_A_BAR: u64 = 16 << 20;

/// Any input of a trace.
pub type Input = BufReader<Box<dyn Read>>;

/// A trace that is being read, and how far.
pub struct Trace {
    /// Its reader.
    pub reader: TraceReader<Input>,
    /// Shown on stderr if that is a terminal and the file is large.
    pub progress: ProgressBar,
}

/// Opens a trace: a file, or stdin for `-`. `quiet` leaves the progress bar out.
pub fn open(path: &Path, quiet: bool) -> anyhow::Result<Trace> {
    let context = || format!("failed to read the trace `{}`", input::name(path));
    let (input, length): (Box<dyn Read>, Option<u64>) = if path == Path::new("-") {
        (Box::new(io::stdin()), None)
    } else {
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

/// A trace that can be opened again and again: what comes from a pipe is kept.
pub struct Again {
    path: PathBuf,
    bytes: Option<Arc<[u8]>>,
}

impl Again {
    /// Of a file, or of stdin for `-`.
    pub fn new(path: &Path) -> anyhow::Result<Again> {
        let bytes = if can_be_read_twice(path) { None } else { Some(input::read(path)?.into()) };
        Ok(Again { path: path.to_owned(), bytes })
    }

    /// The trace from its beginning.
    pub fn open(&self) -> anyhow::Result<Trace> {
        let Some(bytes) = &self.bytes else { return open(&self.path, false) };
        let input: Box<dyn Read> = Box::new(io::Cursor::new(bytes.clone()));
        let reader = TraceReader::new(BufReader::new(input))
            .with_context(|| format!("failed to read the trace `{}`", input::name(&self.path)))?;
        Ok(Trace { reader, progress: ProgressBar::hidden() })
    }

    /// The profile of those calls that are wanted. Wanting what isn't there is an error.
    pub fn profile_of(&self, calls: &Calls<'_>) -> anyhow::Result<Profile> {
        read(&self.path, self.open()?, calls, ()).map(|(profile, ())| profile)
    }
}

/// Whether a path may be opened again to read the same: not so for stdin and pipes.
pub fn can_be_read_twice(path: &Path) -> bool {
    // What isn't there fails when it is opened.
    path != Path::new("-") && path.metadata().map_or(true, |metadata| metadata.is_file())
}

fn bar(length: u64) -> ProgressBar {
    let bar = ProgressBar::new(length);
    // The template is ours; were it wrong, the default style is fine.
    if let Ok(style) =
        ProgressStyle::with_template("{bar:40} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left")
    {
        bar.set_style(style);
    }
    bar
}

/// The profile of a trace: a file, or stdin for `-`.
pub fn profile(path: &Path) -> anyhow::Result<Profile> {
    let Trace { reader, progress } = open(path, false)?;
    let profile = Profile::read(reader, |bytes| progress.set_position(bytes));
    progress.finish_and_clear();
    profile.with_context(|| format!("failed to read the trace `{}`", input::name(path)))
}

/// The profile of those calls of a trace that are wanted. Wanting what isn't there is an error.
pub fn profile_of(path: &Path, calls: &Calls<'_>) -> anyhow::Result<Profile> {
    profile_observed(path, calls, ()).map(|(profile, ())| profile)
}

/// The profile of those calls of a trace that are wanted, and who saw every one of them. Wanting what isn't there is an
/// error.
pub fn profile_observed<O: CallObserver>(
    path: &Path,
    calls: &Calls<'_>,
    observer: O,
) -> anyhow::Result<(Profile, O)> {
    read(path, open(path, false)?, calls, observer)
}

/// [`profile_of`], but wanting what isn't there is no error: it may be in another trace.
pub fn profile_of_one(path: &Path, calls: &Calls<'_>) -> anyhow::Result<Profile> {
    read_unchecked(path, open(path, false)?, calls, ()).map(|(profile, ())| profile)
}

/// Reads to the end.
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
    let read = if calls.are_all() {
        Profile::read_observed(reader, observer, None, report)
    } else {
        calls.with(|filter| Profile::read_observed(reader, observer, Some(filter), report))
    };
    progress.finish_and_clear();
    let (profile, observer) =
        read.with_context(|| format!("failed to read the trace `{}`", input::name(path)))?;
    if profile.sampling().is_some()
        && let Some(flag) = calls.of_single_calls()
    {
        bail!(
            "`{}` is a profile, which doesn't know when single calls were and how long they took, but for slow ones, which \
             `replay` lists; leave {flag} out",
            input::name(path)
        );
    }
    Ok((profile, observer))
}

/// Tells on stderr what makes a trace's figures doubtful.
pub fn tell_warnings(health: &Health) {
    for warning in health.warnings() {
        tell(format_args!("warning: {warning}"));
    }
}
