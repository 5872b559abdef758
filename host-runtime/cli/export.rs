//! `kperf-wasm export`: a trace in other tools' formats.

mod kperf;

use crate::filters::CallArgs;
use std::path::PathBuf;
use std::process::ExitCode;

/// Write a trace in another tool's format
///
/// `kperf`: k-perf's own text files, `trace_NAME_LANE.txt` with a line per enter (`>;id`) and leave
/// (`<;microseconds`), and `symbols_NAME_LANE.txt` with the names, one pair per lane in the folder OUTPUT. They load in
/// k-perf's graph script as they are; for a script that expects an id in each leave, there is --leave-ids.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Opts {
    /// The trace, or `-` for stdin.
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// The format.
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Format,
    /// Where to write: for `kperf` a folder, which is made if it isn't there.
    #[arg(short, long, value_name = "OUTPUT")]
    output: PathBuf,
    /// kperf: repeat the function's id in each leave (`<;id;microseconds`), as older versions of k-perf do.
    #[arg(long)]
    leave_ids: bool,
    #[command(flatten)]
    calls: CallArgs,
}

const EXAMPLES: &str = "\
Examples:
  kperf-wasm export app.kperf --format kperf -o kperf/
  python graph-visualizer.py kperf/trace_app_0.txt

Exit codes:
  0 fine (a damaged trace is exported as far as it can be read), 1 failure, 2 wrong usage";

/// Formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// k-perf's text.
    Kperf,
}

impl Opts {
    /// Exports, and says on stderr what was written.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        match self.format {
            Format::Kperf => kperf::run(&self)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}
