//! `kperf-wasm diff`: compares two traces, or two sets of them.

mod flame;
mod names;
mod places;
mod verdict;

use crate::shared::flags::filters::{CallArgs, CallSelection, TraceContents, share};
use crate::shared::output;
use crate::shared::records::{self, Format};
use crate::shared::table::{TableOptions, host_text, plural};
use crate::shared::traces::dataset;
use crate::shared::{input, traces};
use anyhow::{Context, bail};
use kperf_dataset::is_dataset;
use kperf_profile::{Metric, Profile, ProfileDiff, Sample, Unit, clock_text, sampling_text};
use names::Names;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use verdict::Limit;

/// Show what changed between two traces of the same program, from two versions, compilers, languages or hosts
///
/// Functions are matched by their names. For each the table has the calls, self time and total of both sides; the largest
/// change of self time comes first, and functions that only one side has are shown too. With one run a side, a change of
/// times may be chance. With several runs a side (`A1 A2 A3 -- B1 B2 B3`) figures are means, and Welch's t-test is applied:
/// `95 % from` and `to` are the confidence interval of the change, and a `*` marks changes that are significant at 5 %,
/// corrected for the number of functions (Benjamini and Hochberg).
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Opts {
    /// The trace before and the trace after; with `--`, all traces before. Or a dataset, or two, and --where.
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<PathBuf>,
    /// All traces after.
    #[arg(value_name = "AFTER", last = true)]
    after: Vec<PathBuf>,
    /// The figure that changes are sorted and judged by.
    #[arg(long, value_enum, value_name = "METRIC", default_value = "self")]
    metric: MetricArg,
    /// What is compared: functions, or paths from the outermost call.
    #[arg(long, value_enum, value_name = "WHAT", default_value = "function")]
    by: By,
    /// How names are matched: `loose` takes their last part and leaves out case and underscores, so that
    /// `life::n_live_neighbors`, `main.nLiveNeighbors` and `nLiveNeighbors` are one.
    #[arg(long, value_enum, value_name = "HOW", default_value = "exact")]
    names: Names,
    /// Only functions that have at least this share of the metric on one side: `1%` [default: 0%]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    min_share: Option<f64>,
    /// Exit with code 3 if the whole grew by more than this, or a function did that has at least 1 % of it (or --min-share,
    /// if that is given): `10%`. Exit with code 4 if that is unknown: the change may be chance, and at
    /// least that share of the whole. Of a hundred comparisons of equal
    /// programs at most one is an error of chance. Instructions and calls are exact, so one run a side is enough. Times need several,
    /// because one run doesn't say how much runs differ: `run --repeat 10`.
    #[arg(long, value_name = "CHANGE", value_parser = share)]
    fail_on: Option<f64>,
    /// Subtract the measured cost of the probes from the times of each side.
    #[arg(long, conflicts_with = "by")]
    compensate: bool,
    /// Show only the first N changes, 0 for all [default: 30 in a table, else all]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// `table` for people; `json` and `csv` with exact figures.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "table")]
    format: Format,
    /// Also draw a flame graph of the traces after: red takes more time than before, blue less.
    #[arg(long, value_name = "FILE.svg")]
    flame: Option<PathBuf>,
    /// Don't shorten long names in the table.
    #[arg(long)]
    full_names: bool,
    /// The dataset's runs before, and given again, the runs after: `--where "version = 'a'" --where "version = 'b'"`. Conditions are as
    /// in `report --where`.
    #[arg(long = "where", value_name = "CONDITION", help_heading = "Datasets")]
    conditions: Vec<String>,
    #[command(flatten)]
    calls: CallArgs,
}

const EXAMPLES: &str = "\
Examples:
  kperf-wasm diff before.kperf after.kperf
  kperf-wasm diff rust.kperf go.kperf --names loose --min-share 1%
  kperf-wasm diff --fail-on 10% a1.kperf a2.kperf a3.kperf -- b1.kperf b2.kperf b3.kperf
  kperf-wasm diff before.kperf after.kperf --flame flame.svg
  kperf-wasm diff dataset/ --where \"version = 'a'\" --where \"version = 'b'\"
  kperf-wasm diff old.kperf new.kperf --metric calls --fail-on 0% --min-share 0%    did any function's calls grow?

Exit codes:
  0 fine, 1 failure, 2 wrong usage, 3 it grew by more than --fail-on, 4 whether it did is unknown";

/// What changes are judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum MetricArg {
    #[value(name = "self")]
    SelfTime,
    Total,
    Calls,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum By {
    Function,
    Path,
}

impl Opts {
    /// Compares. Returns exit code 3 if --fail-on finds growth, and 4 if it may be there.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let (before, after) = match (self.traces.as_slice(), self.after.as_slice()) {
            ([dataset], []) if is_dataset(dataset) => {
                (std::slice::from_ref(dataset), std::slice::from_ref(dataset))
            }
            ([before, after], []) => (std::slice::from_ref(before), std::slice::from_ref(after)),
            (before, after @ [_, ..]) => (before, after),
            (traces, []) => bail!(
                "give two traces, or several with `--` between those before and those after; {} given",
                if traces.len() == 1 {
                    "only one is".to_owned()
                } else {
                    format!("{} without `--` are", traces.len())
                }
            ),
        };
        if let Some(option) = after.iter().find(|path| path.to_string_lossy().starts_with("--")) {
            bail!("`{}` follows the `--`, where only traces may be; put options before it", option.display());
        }
        let metric = match self.metric {
            MetricArg::SelfTime => Metric::SelfTime,
            MetricArg::Total => Metric::Total,
            MetricArg::Calls => Metric::Calls,
        };
        let paths = (before, after);
        let calls = self.calls.parse()?;
        let mut known = TraceContents::default();
        let sides = dataset::sides(paths, &self.conditions)?;
        let (before, after) = if let Some([before, after]) = sides {
            (
                self.side_of_dataset(before, &calls, &mut known)?,
                self.side_of_dataset(after, &calls, &mut known)?,
            )
        } else {
            let mut side = |paths| self.side(paths, self.by, &calls, &mut known);
            (side(before)?, side(after)?)
        };
        calls.symbols().check()?;
        calls.check_known(&known)?;
        let mut units = before.samples.iter().chain(&after.samples).map(|sample| sample.unit);
        if let Some(first) = units.next()
            && units.any(|unit| unit != first)
        {
            bail!(
                "some of the traces have times, others instructions (`--clock instructions`): they can't be compared"
            );
        }
        if (before.has_profiles || after.has_profiles) && (before.has_calls || after.has_calls) {
            output::status(
                "warning: some of these are profiles, others traces of all calls: compare their counts, not their times",
            );
        }
        let mut diff = ProfileDiff::new(&before.samples, &after.samples, metric);
        let limit =
            self.fail_on.map(|growth| Limit { growth, min_share: self.min_share.unwrap_or(0.01), metric });
        let mut verdict = limit.map(|limit| limit.judge(&diff)).unwrap_or_default();
        if let (Some(_), None, Some(failure)) = (limit, &before.failure, &after.failure) {
            verdict.add_failure(failure);
        }
        let min_share = self.min_share.unwrap_or(0.0);
        let whole = diff.whole.clone();
        diff.rows.retain(|row| verdict::largest_share(row, &whole, metric) >= min_share);
        let mut out = BufWriter::new(io::stdout().lock());
        self.write(&before, &after, &diff, metric, &mut out)
            .and_then(|()| out.flush())
            .context("failed to write to stdout")?;
        if sides.is_some() && self.flame.is_some() {
            bail!("--flame compares traces; `flame dataset/ --where ..` draws the runs of a dataset");
        }
        self.draw(metric, (&before, &after), &paths, &calls)?;
        self.add_places(&mut verdict.grown, metric, &paths, &calls)?;
        for line in verdict.lines() {
            output::error(line);
        }
        if verdict.grown.is_empty() && !verdict.unknown.is_empty() {
            output::hint(match diff.unit {
                Unit::Time => {
                    "more runs a side tell (`run --repeat 10`, or more than that), or `run --clock instructions`, which says the same \
                     on every machine"
                }
                Unit::Instructions => {
                    "more runs a side tell, or runs with the same input and `--deterministic`"
                }
            });
        }
        Ok(verdict.exit_code())
    }

    fn side(
        &self,
        paths: &[PathBuf],
        by: By,
        calls: &CallSelection<'_>,
        known: &mut TraceContents,
    ) -> anyhow::Result<Side> {
        let mut side = Side::default();
        for path in paths {
            let profile = traces::source(path).calls(calls).one_of_several().profile()?;
            side.add_kind(&profile);
            known.add(&profile.symbols, &profile.health, &profile.lanes);
            if by == self.by {
                traces::report_health(&profile.health);
            }
            if side.about.is_empty() {
                side.about = about(&profile);
            }
            let cost = match by {
                By::Path => None,
                By::Function => traces::compensation(&profile, self.compensate)
                    .with_context(|| format!("failed to compensate `{}`", input::name(path)))?,
            };
            let mut runs = Vec::new();
            profile.each_run(|profile| {
                let name_of = |func| self.names.name_of(&profile.symbols, func);
                runs.push(match by {
                    By::Path => Sample::by_path(profile, name_of),
                    By::Function => Sample::by_function(profile, cost.as_ref(), name_of),
                });
            });
            Sample::at_one_speed(&mut runs);
            side.samples.extend(runs);
        }
        Ok(side)
    }

    /// The runs of a dataset that one side has.
    fn side_of_dataset(
        &self,
        (path, condition): (&Path, Option<&str>),
        calls: &CallSelection<'_>,
        known: &mut TraceContents,
    ) -> anyhow::Result<Side> {
        if self.compensate {
            bail!("--compensate needs traces; a dataset has only sums");
        }
        let mut side = Side::default();
        for profile in dataset::profiles(path, condition, true, calls)? {
            side.add_kind(&profile);
            known.add(&profile.symbols, &profile.health, &profile.lanes);
            if side.about.is_empty() {
                side.about = about(&profile);
            }
            let name_of = |func| self.names.name_of(&profile.symbols, func);
            side.samples.push(match self.by {
                By::Path => Sample::by_path(&profile, name_of),
                By::Function => Sample::by_function(&profile, None, name_of),
            });
        }
        Ok(side)
    }

    fn write(
        &self,
        before: &Side,
        after: &Side,
        diff: &ProfileDiff,
        metric: Metric,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let limit = self.limit.unwrap_or(if self.format == Format::Table { 30 } else { 0 });
        let records: Vec<_> = diff.rows.iter().map(|row| row.cells(metric)).collect();
        if self.format == Format::Table {
            for (letter, side) in [("A", before), ("B", after)] {
                writeln!(out, "# {letter}: {}, {}", plural(side.samples.len() as u64, "run"), side.about)?;
            }
            diff.write_head(out)?;
        }
        let options =
            TableOptions { full_names: self.full_names, unit: diff.unit, ..TableOptions::default() };
        records::write(self.format, &diff.columns(metric), &records, limit, options, out)
    }
}

/// How the outcomes of runs begin that may have done less than they were to do.
const FAILURES: [&str; 5] = ["cut off", "exit", "failed", "interrupted", "trap"];

/// The runs of one side.
#[derive(Default)]
struct Side {
    samples: Vec<Sample>,
    /// The module, host and clock of the first run.
    about: String,
    has_profiles: bool,
    /// How the first run ended that didn't complete.
    failure: Option<String>,
    /// Whether there are traces of all calls.
    has_calls: bool,
}

impl Side {
    fn add_kind(&mut self, profile: &Profile) {
        *(if profile.sampling().is_some() { &mut self.has_profiles } else { &mut self.has_calls }) = true;
        let outcome = profile.health.summary.as_ref().map_or("cut off", |summary| &summary.outcome);
        if FAILURES.iter().any(|failure| outcome.starts_with(failure)) {
            self.failure.get_or_insert_with(|| outcome.to_owned());
        }
    }
}

fn about(profile: &Profile) -> String {
    let modules: Vec<&str> =
        profile.symbols.tables().iter().map(|table| table.module.name.as_str()).collect();
    let module = kperf_profile::printable(&modules.join(", ")).into_owned();
    let clock = match profile.sampling() {
        Some(sampling) => sampling_text(profile, sampling),
        None => clock_text(&profile.header, profile.ticks()),
    };
    format!("{module}, {}, {clock}", host_text(&profile.header))
}
