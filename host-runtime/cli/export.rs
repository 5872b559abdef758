//! `kperf-wasm export`: a trace in other tools' formats.

mod firefox;
mod kieker;
mod kperf;
mod otlp;
mod pprof;
mod speedscope;
mod stream;

use crate::filters::CallArgs;
use crate::spans::SpanArgs;
use anyhow::bail;
use std::path::PathBuf;
use std::process::ExitCode;

/// Write a trace in another tool's format
///
/// What lists calls (chrome, perfetto, speedscope, csv, parquet, kieker, kperf) is written while the trace is read and has
/// every call; pprof and folded have a line per path of calls, firefox has samples of the trace. Names are demangled and
/// unique; times are nanoseconds since the recording began unless the format says otherwise.
///
/// otlp is one protobuf message `TracesData` with a span for each call; otlp-json is the same as lines of JSON, 10,000 spans
/// each, which the Collector's `otlpjsonfile` receiver reads. With --metrics they say how often each function was called and
/// how long that took (`MetricsData`).
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Opts {
    /// The trace, or `-` for stdin.
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// The format.
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Format,
    /// Where to write: a file, or `-` for stdout; for `kperf` and `kieker` a folder, which is made if it isn't there.
    #[arg(short, long, value_name = "OUTPUT")]
    output: PathBuf,
    /// kperf: repeat the function's id in each leave (`<;id;microseconds`), as older versions of k-perf do.
    #[arg(long)]
    leave_ids: bool,
    /// firefox: the time between two samples [default: a millionth of the whole, 1us at least]
    #[arg(long, value_name = "DURATION", value_parser = crate::filters::duration_nanos)]
    interval: Option<u64>,
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
  kperf-wasm export app.kperf --format perfetto -o app.pftrace    for ui.perfetto.dev
  kperf-wasm export app.kperf --format speedscope -o app.json --min-time 1us
  kperf-wasm export app.kperf --format pprof -o app.pb.gz         go tool pprof -top app.pb.gz
  kperf-wasm export app.kperf --format parquet -o app.parquet     for DuckDB, ClickHouse, Spark
  kperf-wasm export app.kperf --format kperf -o kperf/            python graph-visualizer.py kperf/trace_app_0.txt
  kperf-wasm export app.kperf --format otlp-json -o app.jsonl --min-time 10us
  kperf-wasm export app.kperf --format otlp -o - --roots run > app.pb

Exit codes:
  0 fine (a damaged trace is exported as far as it can be read), 1 failure, 2 wrong usage";

/// Formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Trace events as JSON, for chrome://tracing and others.
    Chrome,
    /// Perfetto's protobuf.
    Perfetto,
    /// The Firefox Profiler's JSON: samples of the trace.
    Firefox,
    /// speedscope's JSON.
    Speedscope,
    /// pprof's protobuf, compressed: calls and self time of each path.
    Pprof,
    /// Folded stacks: a line per path of calls.
    Folded,
    /// Kieker's records, for its trace analysis.
    Kieker,
    /// A line per call.
    Csv,
    /// A row per call.
    Parquet,
    /// k-perf's text files, a pair for each lane.
    Kperf,
    /// OpenTelemetry, protobuf.
    Otlp,
    /// OpenTelemetry, a line of JSON for each request.
    OtlpJson,
}

impl Opts {
    /// Exports, and says on stderr what was written.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let otlp = matches!(self.format, Format::Otlp | Format::OtlpJson);
        if !otlp && (self.metrics || self.spans != SpanArgs::default()) {
            bail!("the flags for OpenTelemetry spans and --metrics go with --format otlp or otlp-json");
        }
        if self.format != Format::Kperf && self.leave_ids {
            bail!("--leave-ids goes with --format kperf");
        }
        match self.format {
            Format::Chrome => stream::chrome(&self)?,
            Format::Perfetto => stream::perfetto(&self)?,
            Format::Firefox => firefox::run(&self)?,
            Format::Speedscope => speedscope::run(&self)?,
            Format::Pprof => pprof::pprof(&self)?,
            Format::Folded => pprof::folded(&self)?,
            Format::Kieker => kieker::run(&self)?,
            Format::Csv => stream::csv(&self)?,
            Format::Parquet => stream::parquet(&self)?,
            Format::Kperf => kperf::run(&self)?,
            Format::Otlp | Format::OtlpJson => otlp::run(&self)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}
