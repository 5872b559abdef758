//! `kperf-wasm replay`: the calls of a trace, one by one.

use crate::filters::FilterArgs;
use crate::traces::{self, Trace};
use anyhow::Context;
use indicatif::ProgressBar;
use kperf_profile::{Range, ReplayOptions, Replayed, replay};
use kperf_trace::{Item, LaneId};
use std::io::{self, BufWriter, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Show a trace's calls one by one, as an indented tree with times
///
/// A call that called nothing takes one line, others have a line where they begin and one, with the duration, where they
/// end. Where a call ended without leaving, a comment says how. If there are several lanes (or the trace
/// comes from a pipe, where that isn't known), each line has its lane; they
/// come in the order in which their blocks were written, and in the order of time within a lane.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Opts {
    /// The trace, or `-` for stdin.
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// Show only the outermost N levels of calls.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    depth: Option<u32>,
    /// Show only calls that took at least this long: `10us`, `1.5ms`, `2s`.
    #[arg(long, value_name = "DURATION", value_parser = duration_nanos, default_value = "0s")]
    min_time: u64,
    /// Show only calls that were open at some time in this range, counted from the trace's beginning; either end may be
    /// left out: `1ms~2ms`, `~500us`, `2s~`.
    #[arg(long, value_name = "START~END", value_parser = range)]
    range: Option<Range>,
    #[command(flatten)]
    filter: FilterArgs,
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
        let filter = self.filter.filter()?;
        let lanes = !traces::can_be_read_twice(&self.trace) || several_lanes(&self.trace)?;
        // A bar between the lines of the product would be no help.
        let quiet = io::stdout().is_terminal();
        let Trace { reader, progress } = traces::open(&self.trace, quiet)?;
        let options = ReplayOptions {
            depth: self.depth,
            min_nanos: self.min_time,
            range: self.range.unwrap_or_default(),
            lanes,
            keep: &|name| filter.matches(name),
        };
        let out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        let replayed = replay(reader, &options, out, |bytes| progress.set_position(bytes));
        progress.finish_and_clear();
        let Replayed { health, symbols, .. } = replayed.context("failed to replay the trace")?;
        traces::tell_warnings(&health);
        traces::check_filter(&filter, symbols.iter().map(|symbol| symbol.display_name()))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Whether a file has more than one lane: read ahead, for the width of all lines depends on it.
fn several_lanes(path: &Path) -> anyhow::Result<bool> {
    let Trace { mut reader, progress } = traces::open(path, false)?;
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

fn duration_nanos(text: &str) -> Result<u64, String> {
    let duration = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    u64::try_from(duration.as_nanos()).map_err(|_| "more nanoseconds than 64 bits can hold".to_owned())
}

fn range(text: &str) -> Result<Range, String> {
    let Some((start, end)) = text.split_once('~') else {
        return Err("two durations with a `~` between them are wanted, such as `1ms~2ms`".to_owned());
    };
    let all = Range::default();
    let end_of = |text: &str, default| if text.is_empty() { Ok(default) } else { duration_nanos(text) };
    let range =
        Range { start_nanos: end_of(start, all.start_nanos)?, end_nanos: end_of(end, all.end_nanos)? };
    if range.start_nanos > range.end_nanos { Err("it ends before it begins".to_owned()) } else { Ok(range) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_two_ends() {
        let parsed = |text| range(text).map(|range| (range.start_nanos, range.end_nanos));
        assert_eq!(parsed("1ms~2.5ms"), Ok((1_000_000, 2_500_000)));
        assert_eq!(parsed("~10us"), Ok((0, 10_000)));
        assert_eq!(parsed("2s~"), Ok((2_000_000_000, u64::MAX)));
        assert_eq!(parsed("~"), Ok((0, u64::MAX)));
        assert_eq!(parsed("2ms~1ms"), Err("it ends before it begins".to_owned()));
        assert!(parsed("1ms").is_err() && parsed("1~2").is_err() && parsed("x~1ms").is_err());
    }
}
