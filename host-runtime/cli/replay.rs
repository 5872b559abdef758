//! `kperf-wasm replay`: prints calls one by one.

use crate::shared::flags::filters::CallArgs;
use crate::shared::output;
use crate::shared::symbols::SymbolArgs;
use crate::shared::traces::{self, Trace};
use anyhow::Context;
use indicatif::ProgressBar;
use kperf_export::{ReplayOptions, replay};
use kperf_profile::Exported;
use kperf_trace::{ClockKind, Item, LaneId};
use std::io::{self, BufWriter, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Show a trace's calls one by one, as an indented tree with times
///
/// A call that called nothing has one line. Other calls have a line where they begin, and one with the duration where they
/// end. If a call didn't return, a comment says how it ended. Within a lane, lines are in the order of time; lanes come in
/// the order in which their blocks were written. If there are several lanes, or the trace comes from a pipe, each line
/// names its lane.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Opts {
    /// The trace, or `-` for stdin.
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    #[command(flatten)]
    calls: CallArgs,
}

const EXAMPLES: &str = "\
Examples:
  kperf-wasm replay app.kperf | less
  kperf-wasm replay app.kperf --min-time 100us --depth 5
  kperf-wasm replay app.kperf --range 1ms~1.2ms
  kperf-wasm replay app.kperf --skip '/alloc|fmt/'     as if these had no probes

Exit codes:
  0 fine (a damaged trace is replayed as far as it can be read), 1 failure, 2 wrong usage";

impl Opts {
    /// Replays. A filter that matches nothing is an error.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let calls = self.calls.parse()?;
        let lanes =
            !traces::can_be_read_twice(&self.trace) || several_lanes(&self.trace, &self.calls.symbols)?;
        // On a terminal a progress bar would be between the lines of the replay.
        let quiet = io::stdout().is_terminal();
        let Trace { reader, progress, scan } =
            traces::source(&self.trace).calls(&calls).with_times().quiet(quiet).open()?;
        let clock = &reader.header().clock;
        let ticker = clock.kind == ClockKind::Ticker;
        // A pipe is read once, and says at its end how often the ticker ticked.
        let asked = clock.period_nanos.filter(|_| ticker).map(|period| period as f64);
        let resolution_nanos = scan.resolution_nanos.or(asked).filter(|_| clock.source != "test");
        let out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        let replayed = calls.with(|filter| {
            let options = ReplayOptions { filter: filter.clone(), lanes, resolution_nanos };
            replay(reader, &options, out, |bytes| progress.set_position(bytes))
        });
        progress.finish_and_clear();
        let Exported { health, symbols, lanes, .. } = replayed.context("failed to replay the trace")?;
        traces::report_health(&health);
        calls.check(&symbols, &health, &lanes)?;
        if ticker && health.sampling.is_none() {
            output::hint(format_args!(
                "a ticker's times are no finer than its ticks; run --clock precise times every call"
            ));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Whether a trace has more than one lane. The first line's width depends on it.
fn several_lanes(path: &Path, symbols: &SymbolArgs) -> anyhow::Result<bool> {
    let Trace { mut reader, progress, .. } = traces::source(path).symbols(symbols).open()?;
    let several = first_two_lanes(&mut reader, &progress);
    progress.finish_and_clear();
    several.with_context(|| format!("failed to read the trace `{}`", path.display()))
}

fn first_two_lanes(
    reader: &mut kperf_trace::TraceReader<traces::Input>,
    progress: &ProgressBar,
) -> io::Result<bool> {
    let mut first: Option<LaneId> = None;
    while let Some(item) = reader.next()? {
        if let Item::Events(batch) = item
            && *first.get_or_insert(batch.lane) != batch.lane
        {
            return Ok(true);
        }
        progress.set_position(reader.offset());
    }
    Ok(false)
}
