//! `kperf-wasm export`: a trace in other tools' formats.

mod firefox;
mod kieker;
mod kperf;
mod otlp;
mod paths;
mod speedscope;
mod stream;

use crate::shared::flags::filters::CallArgs;
use crate::shared::flags::spans::SpanArgs;
use crate::shared::input;
use anyhow::bail;
use kperf_export::formats::folded::{self, Weight};
use kperf_export::formats::{chrome, csv, perfetto, pprof};
use std::path::PathBuf;
use std::process::ExitCode;

/// Write a trace in another tool's format
///
/// chrome, perfetto, speedscope, csv, parquet, kieker and kperf have every call and are written while the trace is read. pprof
/// and folded have one entry for each path of calls, firefox has samples. Names are demangled and unique. Times of csv and parquet are
/// nanoseconds since the trace's earliest lane began, as for --range (from a pipe without --range: since the lane of the first block began).
/// Times of the other formats count from the beginning of the recording, unless the format has another. Where instructions are the clock, csv, parquet, pprof and speedscope say so; chrome, perfetto, firefox, kieker and kperf have only times, and each instruction is written as a nanosecond.
///
/// otlp is one protobuf message `TracesData` with a span for each call. otlp-json is the same as lines of JSON with 10,000
/// spans each, for the Collector's `otlpjsonfile` receiver. With --metrics both have `MetricsData` instead: the calls of each
/// function and their time. With --profiles both have `ProfilesData`: the calls and the self time of each path of calls.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Opts {
    /// The trace, or `-` for stdin.
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// The format.
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Format,
    /// Where to write: a file, or `-` for stdout. For `kperf` and `kieker` it is a folder, which is made if it is missing.
    #[arg(short, long, value_name = "OUTPUT")]
    output: PathBuf,
    /// kperf: write the function's id in each leave too (`<;id;microseconds`), as older versions of k-perf do.
    #[arg(long)]
    leave_ids: bool,
    /// firefox: the time between two samples [default: a millionth of the whole time, but at least 1us]
    #[arg(long, value_name = "DURATION", value_parser = crate::shared::flags::filters::duration_nanos)]
    interval: Option<u64>,
    #[command(flatten)]
    calls: CallArgs,
    /// otlp, otlp-json: metrics of functions instead of spans.
    #[arg(long)]
    metrics: bool,
    /// otlp, otlp-json: profiles (OpenTelemetry's `v1development`) instead of spans.
    #[arg(long, conflicts_with = "metrics")]
    profiles: bool,
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
  kperf-wasm export app.kperf --format otlp --profiles -o app.pb

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
    /// pprof's heap profile, of a trace with allocations: what each path allocated, and what is left of it.
    PprofHeap,
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
    /// Exports, and prints on stderr what was written.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let otlp = matches!(self.format, Format::Otlp | Format::OtlpJson);
        if !otlp && (self.metrics || self.profiles || self.spans != SpanArgs::default()) {
            bail!("--metrics, --profiles and the flags for spans need --format otlp or otlp-json");
        }
        if self.format != Format::Kperf && self.leave_ids {
            bail!("--leave-ids needs --format kperf");
        }
        crate::shared::product::keep(&self.trace, &self.output)?;
        let program = &input::module_name(&self.trace);
        match self.format {
            Format::Chrome => stream::write(&self, false, |reader, filter, out, progress| {
                chrome::write(reader, filter, program, out, progress)
            })?,
            Format::Perfetto => stream::write(&self, true, |reader, filter, out, progress| {
                perfetto::write(reader, filter, program, out, progress)
            })?,
            Format::Csv => stream::write(&self, false, |reader, filter, out, progress| {
                csv::write(reader, filter, out, progress)
            })?,
            Format::Parquet => stream::write(&self, true, |reader, filter, out, progress| {
                kperf_dataset::write_calls(reader, filter, out, progress)
            })?,
            Format::Pprof => paths::write(&self, true, |profile, out| pprof::write(profile, out))?,
            Format::Folded => {
                paths::write(&self, false, |profile, out| folded::write(profile, Weight::Nanos, out))?;
            }
            Format::PprofHeap => paths::heap(&self)?,
            Format::Firefox => firefox::run(&self)?,
            Format::Speedscope => speedscope::run(&self)?,
            Format::Kieker => kieker::run(&self)?,
            Format::Kperf => kperf::run(&self)?,
            Format::Otlp | Format::OtlpJson if self.profiles => otlp::profiles(&self)?,
            Format::Otlp | Format::OtlpJson => otlp::run(&self)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}
