//! `kperf-wasm export`: a trace in other tools' formats.

mod kperf;
mod otlp;

use crate::filters::CallArgs;
use crate::spans::SpanArgs;
use anyhow::bail;
use std::path::PathBuf;
use std::process::ExitCode;

/// Write a trace in another tool's format
///
/// `kperf`: k-perf's own text files, `trace_NAME_LANE.txt` with a line per enter (`>;id`) and leave
/// (`<;microseconds`), and `symbols_NAME_LANE.txt` with the names, one pair per lane in the folder OUTPUT. They load in
/// k-perf's graph script as they are; for a script that expects an id in each leave, there is --leave-ids.
///
/// `otlp`: OpenTelemetry spans, a span a call, as one protobuf message `TracesData` in the file OUTPUT. `otlp-json`: the
/// same as lines of JSON, 10,000 spans each, which the Collector's `otlpjsonfile` receiver reads. With --metrics, how often
/// each function was called and how long that took (`MetricsData`).
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Opts {
    /// The trace, or `-` for stdin.
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// The format.
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Format,
    /// Where to write: for `kperf` a folder, which is made if it isn't there; for the others a file, or `-` for stdout.
    #[arg(short, long, value_name = "OUTPUT")]
    output: PathBuf,
    /// kperf: repeat the function's id in each leave (`<;id;microseconds`), as older versions of k-perf do.
    #[arg(long)]
    leave_ids: bool,
    #[command(flatten)]
    calls: CallArgs,
    /// otlp, otlp-json: metrics of functions instead of spans.
    #[arg(long)]
    metrics: bool,
    #[command(flatten)]
    spans: SpanArgs,
}

const EXAMPLES: &str = "\
Examples:
  kperf-wasm export app.kperf --format kperf -o kperf/
  python graph-visualizer.py kperf/trace_app_0.txt
  kperf-wasm export app.kperf --format otlp-json -o app.jsonl --min-time 10us
  kperf-wasm export app.kperf --format otlp -o - --roots run > app.pb
  kperf-wasm export app.kperf --format otlp-json --metrics -o metrics.jsonl

Exit codes:
  0 fine (a damaged trace is exported as far as it can be read), 1 failure, 2 wrong usage";

/// Formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// k-perf's text.
    Kperf,
    /// OpenTelemetry, protobuf.
    Otlp,
    /// OpenTelemetry, a line of JSON for each request.
    OtlpJson,
}

impl Opts {
    /// Exports, and says on stderr what was written.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let kperf = self.format == Format::Kperf;
        if kperf && (self.metrics || self.spans != SpanArgs::default()) {
            bail!("the flags for OpenTelemetry spans and --metrics go with --format otlp or otlp-json");
        }
        if !kperf && self.leave_ids {
            bail!("--leave-ids goes with --format kperf");
        }
        match self.format {
            Format::Kperf => kperf::run(&self)?,
            Format::Otlp | Format::OtlpJson => otlp::run(&self)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}
