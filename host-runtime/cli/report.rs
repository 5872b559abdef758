//! `kperf-wasm report`: the flat profile of a trace.

mod formats;

use crate::filters::CallArgs;
use crate::table::{self, TableOptions};
use crate::traces;
use anyhow::{Context, bail};
use kperf_profile::{FlatProfile, Row};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Show where a trace's time went: calls, total and self time of each function
///
/// `total` is the time from a function's enter to its leave, recursion counted once; `self` leaves out the calls that it
/// made; `avg`, `min` and `max` are those of single calls. `callers` is the most frequent caller and how many others
/// there are; `[host]` is the world outside the module. What makes the figures doubtful is told on stderr.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Opts {
    /// The trace, or `-` for stdin.
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// What comes first: the most, the longest; or `name` in alphabetical order.
    #[arg(long, value_enum, value_name = "KEY", default_value = "self")]
    sort: Key,
    /// Show only the first N functions, 0 for all [default: 30 in a table, else all]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Take off what the probes themselves cost, as it was measured when the recording began.
    #[arg(long)]
    compensate: bool,
    /// `table` for people; `json` and `csv` with exact nanoseconds.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "table")]
    format: Format,
    /// Don't shorten long names in the table.
    #[arg(long)]
    full_names: bool,
    #[command(flatten)]
    calls: CallArgs,
}

const EXAMPLES: &str = "\
Examples:
  kperf-wasm report app.kperf
  kperf-wasm report app.kperf --sort calls --limit 10
  kperf-wasm report app.kperf --only 'app::*' --skip '*::fmt' --compensate
  kperf-wasm report - --format csv < app.kperf > app.csv

Exit codes:
  0 fine (a damaged trace is reported as far as it can be read), 1 failure, 2 wrong usage";

/// Sort keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Key {
    Calls,
    Total,
    #[value(name = "self")]
    Own,
    Avg,
    Min,
    Max,
    Name,
}

/// Output formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Table,
    Json,
    Csv,
}

impl Opts {
    /// Reports. A filter that matches nothing is an error, and so is compensation without a measured cost.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let profile = traces::profile_of(&self.trace, &self.calls.parse()?)?;
        let cost = match (&profile.header.probe_cost, self.compensate) {
            (None, true) => {
                bail!("the trace doesn't say what its probes cost, so that nothing can be compensated");
            }
            (cost, compensate) => cost.as_ref().filter(|_| compensate),
        };
        let flat = FlatProfile::new(&profile.tree, &profile.symbols, &profile.header, cost);
        let mut rows: Vec<&Row> = flat.rows.iter().collect();
        self.sort.sort(&mut rows);
        traces::tell_warnings(&profile.health);
        let mut out = BufWriter::new(io::stdout().lock());
        let limit = self.limit.unwrap_or(if self.format == Format::Table { 30 } else { 0 });
        let listed = if limit == 0 { rows.as_slice() } else { rows.get(..limit).unwrap_or(&rows) };
        match self.format {
            Format::Table => {
                let options = TableOptions { full_names: self.full_names };
                table::write_head(&profile, &flat, cost.is_some(), &mut out)
                    .and_then(|()| table::write_rows(&profile.symbols, &rows, limit, options, &mut out))
            }
            Format::Json => formats::write_json(&profile, &flat, listed, cost.is_some(), &mut out),
            Format::Csv => out.write_all(formats::csv(&profile, listed).as_bytes()),
        }
        .and_then(|()| out.flush())
        .context("failed to write to stdout")?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Key {
    /// Rows that are equal by the key stay in the order of their self times.
    fn sort(self, rows: &mut [&Row]) {
        let descending = |key: fn(&Row) -> f64| move |a: &&Row, b: &&Row| key(b).total_cmp(&key(a));
        match self {
            Key::Calls => rows.sort_by_key(|row| std::cmp::Reverse(row.calls)),
            Key::Total => rows.sort_by(descending(|row| row.total_nanos)),
            Key::Own => rows.sort_by(descending(|row| row.self_nanos)),
            Key::Avg => rows.sort_by(descending(|row| row.average_nanos)),
            Key::Min => rows.sort_by(descending(|row| row.min_nanos)),
            Key::Max => rows.sort_by(descending(|row| row.max_nanos)),
            Key::Name => rows.sort_by(|a, b| a.name.cmp(&b.name)),
        }
    }
}
