//! `kperf-wasm report`: prints the flat profile of a trace.

mod allocations;
mod callgraph;
mod formats;
mod groups;
mod histogram;
mod lines;
mod percentiles;
mod windows;

use crate::shared::flags::filters::CallArgs;
use crate::shared::records::Format;
use crate::shared::table::color::ColorArg;
use crate::shared::table::fit::Shown;
use crate::shared::table::{self, TableOptions};
use crate::shared::traces;
use crate::shared::traces::dataset::WhereArgs;
use anyhow::{Context, bail};
use callgraph::End;
use groups::By;
use kperf_profile::{
    Accuracy, CallGraph, Histograms, Profile, Row, RowTexts, Symbols, Unit, usual_rows, write_json,
};
use kperf_rewriter::Pattern;
use kperf_trace::ProbeCost;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use windows::Window;

/// Show where a trace's time went: calls, total and self time of each function
///
/// `total` is the time from a function's enter to its leave; recursion counts once. `self` is total without the calls that
/// the function made. `avg`, `min` and `max` are of single calls. `callers` is the most frequent caller and the number of
/// other callers; `[host]` is everything outside the module. Warnings on stderr say what makes figures doubtful.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Opts {
    /// The trace, `-` for stdin, or a dataset that `collect` has made.
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// The figure to sort by, the largest first; or `name` for alphabetical order.
    #[arg(long, value_enum, value_name = "KEY", default_value = "self")]
    sort: Key,
    /// Show only the first N functions, 0 for all [default: in a table those that make up 99 % of the time, at most 30; else
    /// all]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Subtract the cost of the probes, which was measured when the recording ended.
    #[arg(long)]
    compensate: bool,
    /// `table` for people; `json` and `csv` with exact nanoseconds.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "table")]
    format: Format,
    /// Don't shorten long names in the table.
    #[arg(long)]
    full_names: bool,
    /// Bars and colors in the table.
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto")]
    color: ColorArg,
    /// Add the 50th, 90th and 99th percentile of each function's calls; each is right to within 3.2 %.
    #[arg(long, conflicts_with_all = ["compensate", "by"])]
    percentiles: bool,
    /// Profiles: show the `sum` of all windows, only the `last` or the N-th window of each lane (counted from 1), or the `series`
    /// of all windows, with a row for each function in each window (--limit then applies to each window).
    #[arg(long, value_name = "WHICH", default_value = "sum")]
    window: Window,
    #[command(flatten)]
    what: What,
    #[command(flatten)]
    dataset: WhereArgs,
    #[command(flatten)]
    calls: CallArgs,
}

/// What is shown instead of the functions one by one.
#[derive(clap::Args)]
#[group(multiple = false)]
#[command(next_help_heading = "Instead of the functions one by one")]
struct What {
    /// Add up functions of the same file, module or namespace; split them up by `line`; or show what functions allocated (`allocations`), or calls on each
    /// path (`allocation-paths`), in a trace that was recorded with --allocations.
    #[arg(long, value_enum, value_name = "WHAT", default_value = "function", hide_default_value = true)]
    by: By,
    /// The call graph in the style of gprof: each function with its callers above it and its callees below.
    #[arg(long)]
    call_graph: bool,
    /// The callers of the functions with matching names: a glob or a `/regex/`.
    #[arg(long, value_name = "PATTERN")]
    callers: Option<String>,
    /// The functions that these functions call.
    #[arg(long, value_name = "PATTERN")]
    callees: Option<String>,
    /// How long the calls of these functions took, as a histogram.
    #[arg(long, value_name = "PATTERN")]
    histogram: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  kperf-wasm report app.kperf
  kperf-wasm report app.kperf --sort calls --limit 10
  kperf-wasm report app.kperf --only 'app::*' --skip '*::fmt' --compensate
  kperf-wasm report app.kperf --percentiles
  kperf-wasm report app.kperf --callers '*::malloc'
  kperf-wasm report app.kperf --histogram app::handle
  kperf-wasm report app.kperf --by namespace --format json
  kperf-wasm report app.kperf --by line                      which lines, of `run --record profile`
  kperf-wasm report app.kperf --by allocations               of `run --allocations`
  kperf-wasm report app.kperf --window series --only main    of a profile, window by window
  kperf-wasm report dataset/ --where \"version = 'b'\"           of all runs of a version
  kperf-wasm report - --format csv < app.kperf > app.csv

Exit codes:
  0 fine (a damaged trace is reported as far as it can be read), 1 failure, 2 wrong usage";

/// How many rows a table has at most by default.
const MAX_ROWS: usize = 30;

/// Sort keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Key {
    Calls,
    Total,
    #[value(name = "self")]
    SelfTime,
    Avg,
    Min,
    Max,
    Name,
}

impl Opts {
    /// Reports. Fails if a filter matches nothing, or if --compensate finds no measured cost.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let mut calls = self.calls.parse()?;
        if let Some(flag) = self.of_a_trace() {
            self.dataset.refuse(&self.trace, flag)?;
        }
        if let By::Allocations | By::AllocationPaths = self.what.by {
            allocations::run(&self, self.what.by == By::AllocationPaths)?;
            return Ok(ExitCode::SUCCESS);
        }
        let observer = (self.percentiles || self.what.histogram.is_some()).then(Histograms::default);
        let of_dataset = self.dataset.profile(&self.trace, &calls)?;
        calls.windows = self.window.0;
        calls.lines = self.what.by == By::Line;
        let (profile, histograms) = match of_dataset {
            Some(profile) => (profile, None),
            None => traces::source(&self.trace).calls(&calls).observed(observer)?,
        };
        self.window.check(&profile)?;
        if self.window.is_series() && self.what.is_given() {
            bail!("--window series lists functions one by one; remove --by, --call-graph and the like");
        }
        if profile.sampling().is_some() && (self.percentiles || self.what.histogram.is_some()) {
            bail!(
                "the trace is a profile, which has only the average time of calls; remove --percentiles and --histogram"
            );
        }
        let cost = traces::compensation(&profile, self.compensate)?;
        let cost = cost.as_ref();
        let graph = CallGraph::new(&profile.tree, &profile.symbols, &profile.header, cost);
        let mut rows: Vec<&Row> = graph.flat.rows.iter().collect();
        if let Some((flag, pattern)) = self.what.pattern() {
            choose(&mut rows, &profile.symbols, flag, pattern)?;
        }
        self.sort.sort(&mut rows);
        traces::report_health(&profile.health);
        let mut out = BufWriter::new(io::stdout().lock());
        self.write(&profile, &graph, &rows, histograms.as_ref(), cost, &mut out)
            .and_then(|()| out.flush())
            .context("failed to write to stdout")?;
        if self.format == Format::Table {
            // Hints sum up the tree once more.
            drop(rows);
            drop(graph);
            traces::show_hints(&profile, cost.is_some());
        }
        Ok(ExitCode::SUCCESS)
    }

    /// A flag that is given and that needs a trace: a dataset has only sums.
    fn of_a_trace(&self) -> Option<&'static str> {
        match self.what.by {
            By::Allocations | By::AllocationPaths => return Some("--by allocations"),
            By::Line => return Some("--by line"),
            _ if self.percentiles => return Some("--percentiles"),
            _ => {}
        }
        let histogram = self.what.histogram.is_some().then_some("--histogram");
        histogram.or((self.window != Window::default()).then_some("--window"))
    }

    fn write(
        &self,
        profile: &Profile,
        graph: &CallGraph,
        rows: &[&Row],
        histograms: Option<&Histograms>,
        cost: Option<&ProbeCost>,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let limit = self.limit.unwrap_or_else(|| self.usual_limit(profile, rows));
        let options = self.table_options(profile);
        let (symbols, how) = (&profile.symbols, (self.format, limit));
        let accuracy = &Accuracy::of(profile, graph.flat.self_nanos).compensated(cost);
        let listed = if limit == 0 { rows } else { rows.get(..limit).unwrap_or(rows) };
        if self.format == Format::Table {
            table::write_head(profile, &graph.flat, cost.is_some(), out)?;
            self.window.write_head(profile, out)?;
        }
        if self.window.is_series() {
            return windows::write_series(
                profile,
                |rows| self.sort.sort(rows),
                self.limit,
                self.format,
                options,
                out,
            );
        }
        match (&self.what, histograms) {
            (What { histogram: Some(_), .. }, Some(histograms)) => {
                histogram::write(profile, histograms, listed, accuracy, self.format, out)
            }
            (What { callers: Some(_), .. }, _) => {
                callgraph::write_ends((graph, accuracy), symbols, rows, End::Callers, how, options, out)
            }
            (What { callees: Some(_), .. }, _) => {
                callgraph::write_ends((graph, accuracy), symbols, rows, End::Callees, how, options, out)
            }
            (What { call_graph: true, .. }, _) => {
                callgraph::write_graph((graph, accuracy), symbols, rows, how, options, out)
            }
            (What { by: By::Function, .. }, _) => match self.format {
                Format::Table => self.write_table(profile, accuracy, rows, limit, histograms, out),
                Format::Json => write_json(profile, &graph.flat, listed, histograms, cost.is_some(), out),
                Format::Csv => out.write_all(formats::csv(profile, accuracy, listed, histograms).as_bytes()),
            },
            (What { by: By::Line, .. }, _) => lines::write(profile, cost, accuracy, how, options, out),
            (What { by, .. }, _) => groups::write(profile, *by, (cost, accuracy), how, options, out),
        }
    }

    /// How many rows to show by default; 0 for all.
    fn usual_limit(&self, profile: &Profile, rows: &[&Row]) -> usize {
        if self.format != Format::Table {
            return 0;
        }
        if self.sort != Key::SelfTime || self.what.is_given() { MAX_ROWS } else { usual_rows(profile, rows) }
    }

    fn table_options(&self, profile: &Profile) -> TableOptions {
        let color = self.color.of(&io::stdout());
        TableOptions {
            full_names: self.full_names,
            unit: Unit::of(&profile.header),
            shown: Shown::on_stdout(color),
        }
    }

    fn write_table(
        &self,
        profile: &Profile,
        accuracy: &Accuracy,
        rows: &[&Row],
        limit: usize,
        histograms: Option<&Histograms>,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let options = self.table_options(profile);
        let Some(histograms) = histograms else {
            return table::write_rows(profile, accuracy, rows, limit, options, out);
        };
        let titles = percentiles::PERCENTILES.map(|(name, _)| name);
        let more = |row: &Row| {
            percentiles::of(profile, histograms, row.func)
                .map(|nanos| accuracy.call_text(nanos as f64))
                .into_iter()
                .collect()
        };
        let texts = RowTexts::new(profile, accuracy);
        table::write_rows_with(texts, rows, limit, options, (&titles, &more), out)?;
        writeln!(out, "# percentiles are right {}", percentiles::error_text(accuracy))
    }
}

impl What {
    /// Whether one of these flags is given.
    fn is_given(&self) -> bool {
        self.by != By::Function || self.call_graph || self.pattern().is_some()
    }

    /// The flag that has a pattern, and the pattern.
    fn pattern(&self) -> Option<(&'static str, &str)> {
        let flags =
            [("--callers", &self.callers), ("--callees", &self.callees), ("--histogram", &self.histogram)];
        flags.into_iter().find_map(|(flag, pattern)| Some((flag, pattern.as_deref()?)))
    }
}

/// Keeps the rows with matching names.
fn choose(rows: &mut Vec<&Row>, symbols: &Symbols, flag: &str, text: &str) -> anyhow::Result<()> {
    let pattern = Pattern::parse(text).with_context(|| format!("failed to read the pattern of {flag}"))?;
    let names = rows.iter().map(|row| &*row.name);
    let matches = |row: &&Row| pattern.matches_function(&row.name, || symbols.label(row.func));
    if !rows.iter().any(matches) {
        let hint = pattern.hint(names.clone()).map(|hint| format!("; did you mean `{hint}`?"));
        let (count, hint) = (names.count(), hint.unwrap_or_default());
        bail!("{flag} `{text}` matches none of the {count} functions that were called{hint}");
    }
    rows.retain(matches);
    Ok(())
}

impl Key {
    /// Sorts the rows. Equal rows stay in the order of their self times.
    fn sort(self, rows: &mut [&Row]) {
        let descending = |key: fn(&Row) -> f64| move |a: &&Row, b: &&Row| key(b).total_cmp(&key(a));
        match self {
            Key::Calls => rows.sort_by_key(|row| std::cmp::Reverse(row.calls)),
            Key::Total => rows.sort_by(descending(|row| row.total_nanos)),
            Key::SelfTime => rows.sort_by(descending(|row| row.self_nanos)),
            Key::Avg => rows.sort_by(descending(|row| row.average_nanos)),
            Key::Min => rows.sort_by(descending(|row| row.min_nanos)),
            Key::Max => rows.sort_by(descending(|row| row.max_nanos)),
            Key::Name => rows.sort_by(|a, b| a.name.cmp(&b.name)),
        }
    }
}
