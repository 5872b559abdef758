//! `kperf-wasm collect`: many traces as tables that query engines read.

mod compact;
mod sql;

use crate::input;
use crate::output::{print, tell};
use crate::spans::environment;
use crate::symbols::SymbolArgs;
use crate::table::plural;
use crate::traces::{Again, Trace};
use anyhow::{Context, bail};
use indicatif::ProgressBar;
use kperf_dataset::{Added, Adder, Error, Labels, Options, Store};
use sql::Engine;
use std::cell::RefCell;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Add traces to a dataset: Parquet tables that DuckDB, Spark, ClickHouse and the like read
///
/// A dataset is a folder with the tables `runs`, `functions`, `paths`, `stats` (what each path of calls did in each run, with a
/// histogram of durations) and `spans` (slow calls), for each service and day. A trace that was taken before is left out, so a
/// folder can be collected again and again, by several processes at once, and one that was killed. `report`, `flame` and
/// `diff` read a dataset too: `--where "version = 'b'"` chooses runs.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Opts {
    /// Traces, folders with traces (`*.kperf`), or `-` for stdin.
    #[arg(value_name = "TRACE|DIR")]
    traces: Vec<PathBuf>,
    /// The dataset: a folder, or `s3://BUCKET/PREFIX` (a build with `--features s3`; `AWS_*` variables name who writes and where).
    #[arg(short, long, value_name = "DIR|s3://..")]
    output: PathBuf,
    /// The service that ran [default: `OTEL_SERVICE_NAME`, or the module's name]
    #[arg(long, value_name = "NAME")]
    service_name: Option<String>,
    /// Its version [default: `service.version` of `OTEL_RESOURCE_ATTRIBUTES`, or the beginning of the module's hash]
    #[arg(long, value_name = "VERSION")]
    service_version: Option<String>,
    /// The machine that it ran on [default: `host.name` of `OTEL_RESOURCE_ATTRIBUTES`, or none]
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// More about the runs, for the column `attributes`. May be repeated.
    #[arg(long = "attribute", value_name = "NAME=VALUE")]
    attributes: Vec<String>,
    /// Tell runs apart by this name instead of by what the trace says of its start. Only with one trace.
    #[arg(long, value_name = "NAME")]
    run_id: Option<String>,
    /// Also write a row for each call, to the table `calls`.
    #[arg(long)]
    calls: bool,
    /// Calls that took at least this long have a row in `spans`.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration, default_value = "10ms")]
    span_min: Duration,
    /// At most so many calls of a run have one: the longest.
    #[arg(long, value_name = "N", default_value_t = Options::MAX_SPANS)]
    max_spans: usize,
    /// Join the small files of a day to large ones, when all traces are taken.
    #[arg(long)]
    compact: bool,
    /// Print the views that answer the usual questions, for `duckdb`, `datafusion` or `spark`.
    #[arg(long, value_enum, value_name = "ENGINE", num_args = 0..=1, default_missing_value = "duckdb")]
    sql: Option<Engine>,
    /// Say nothing but warnings.
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    symbols: SymbolArgs,
}

const EXAMPLES: &str = "\
Examples:
  kperf-wasm collect app.kperf -o dataset/
  kperf-wasm collect traces/ -o dataset/ --service-version b --host web-3
  kperf-wasm collect - -o dataset/ < app.kperf
  kperf-wasm collect -o dataset/ --compact
  kperf-wasm collect -o dataset/ --sql | duckdb fleet.db
  kperf-wasm report dataset/ --where \"version = 'b' and host = 'web-3'\"

Exit codes:
  0 everything is in the dataset, 1 something isn't, or failure, 2 wrong usage";

/// Fails if a run can't be added to a dataset when it has ended, as far as that is known before it begins.
pub fn prepare(trace: &Path, dataset: &Path) -> anyhow::Result<()> {
    if trace == Path::new("-") || trace.exists() && !trace.is_file() {
        bail!("--dataset needs the trace as a file, and `{}` is none", trace.display());
    }
    if dataset == Path::new("-") {
        bail!("a dataset is a folder; name one with --dataset");
    }
    environment()?;
    Store::open_or_create(dataset)?;
    Ok(())
}

/// Adds a run that has just ended to a dataset, with what the environment says of it. Answers whether it is there; if not, the user is told.
pub fn add_run(trace: &Path, dataset: &Path, quiet: bool) -> bool {
    match Opts::of_run(trace, dataset, quiet).run() {
        Ok(code) => code == ExitCode::SUCCESS,
        Err(error) => {
            tell(format_args!("error: {error:#}"));
            false
        }
    }
}

impl Opts {
    fn of_run(trace: &Path, dataset: &Path, quiet: bool) -> Opts {
        Opts {
            traces: vec![trace.to_owned()],
            output: dataset.to_owned(),
            service_name: None,
            service_version: None,
            host: None,
            attributes: Vec::new(),
            run_id: None,
            calls: false,
            span_min: Options::SPAN_MIN,
            max_spans: Options::MAX_SPANS,
            compact: false,
            sql: None,
            quiet,
            symbols: SymbolArgs::default(),
        }
    }

    /// Collects. Traces that can't be read are told, and the others taken all the same.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        if self.output == Path::new("-") {
            bail!("a dataset is a folder; name one with -o");
        }
        if self.traces.is_empty() && !self.compact && self.sql.is_none() {
            bail!("name traces, folders with traces, or `-` for stdin");
        }
        let inputs =
            self.traces.iter().map(|path| traces(path)).collect::<anyhow::Result<Vec<_>>>()?.concat();
        if self.run_id.is_some() && inputs.len() > 1 {
            bail!("--run-id names one run, and {} traces are given", inputs.len());
        }
        let store = match inputs.is_empty() {
            true => Store::open(&self.output)?,
            false => Store::open_or_create(&self.output)?,
        };
        let failed = self.take_all(&store, &inputs)?;
        if self.compact {
            let told = compact::compact(&store)?;
            self.say(format_args!("{}: {told}", store.root().display()));
        }
        if let Some(engine) = self.sql {
            print(&sql::views(&store, engine)?)?;
        }
        Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn say(&self, text: impl std::fmt::Display) {
        if !self.quiet {
            tell(text);
        }
    }

    /// Takes all traces. Answers how many could not be taken.
    fn take_all(&self, store: &Store, inputs: &[PathBuf]) -> anyhow::Result<u64> {
        if inputs.is_empty() {
            return Ok(0);
        }
        let mut adder = Adder::new(store, self.options()?)?;
        let (mut new, mut grown, mut before, mut failed) = (0u64, 0u64, 0u64, 0u64);
        for path in inputs {
            match self.take(&mut adder, path) {
                Ok(Added::New) => new += 1,
                Ok(Added::Grown) => grown += 1,
                Ok(Added::Before) => before += 1,
                Err(error) if inputs.len() == 1 => return Err(error),
                Err(error) => {
                    failed += 1;
                    tell(format_args!("error: {error:#}"));
                }
            }
        }
        let mut told = vec![format!("{} new", plural(new, "run"))];
        let others = [(grown, "more of than before"), (before, "taken before"), (failed, "not taken")];
        told.extend(
            others.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")),
        );
        self.say(format_args!("{}: {}, {} in all", store.root().display(), told.join(", "), adder.runs()));
        Ok(failed)
    }

    fn options(&self) -> anyhow::Result<Options> {
        let (service, attributes) = environment()?;
        let of_resource = Labels::of_resource(attributes);
        let mut attributes = of_resource.attributes;
        for text in &self.attributes {
            let (name, value) =
                text.split_once('=').with_context(|| format!("`{text}` is no attribute; give NAME=VALUE"))?;
            attributes.push((name.to_owned(), value.to_owned()));
        }
        let labels = Labels {
            service: self.service_name.clone().or(service).or(of_resource.service),
            version: self.service_version.clone().or(of_resource.version),
            host: self.host.clone().unwrap_or(of_resource.host),
            attributes,
        };
        Ok(Options {
            labels,
            run_name: self.run_id.clone(),
            calls: self.calls,
            span_min: self.span_min,
            max_spans: self.max_spans,
        })
    }

    fn take(&self, adder: &mut Adder<'_>, path: &Path) -> anyhow::Result<Added> {
        let again = Again::new(path)?;
        let length =
            path.metadata().ok().filter(|metadata| metadata.is_file()).map(|metadata| metadata.len());
        let (shown, name) = (input::name(path), input::module_name(path));
        let trace = kperf_dataset::Trace { shown: &shown, name: &name, length };
        let bar = RefCell::new(ProgressBar::hidden());
        let open = || {
            let opened = again.open(&self.symbols);
            let Trace { reader, progress } = opened.map_err(|error| Error::new(format!("{error:#}")))?;
            bar.replace(progress);
            Ok(reader)
        };
        let outcome = adder.add(trace, open, |bytes| bar.borrow().set_position(bytes));
        bar.borrow().finish_and_clear();
        let outcome = outcome?;
        for warning in &outcome.warnings {
            tell(format_args!("warning: {shown}: {warning}"));
        }
        Ok(outcome.added)
    }
}

/// The traces that a path means: itself, or all `.kperf` files in the folder and in those within it.
fn traces(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if path == Path::new("-") || !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let (mut found, mut folders) = (Vec::new(), vec![path.to_owned()]);
    while let Some(folder) = folders.pop() {
        for path in entries(&folder)? {
            // A link to a folder may lead in circles.
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else if path.is_file() && path.extension().is_some_and(|ending| ending == "kperf") {
                found.push(path);
            }
        }
    }
    if found.is_empty() {
        bail!("there is no trace (`*.kperf`) in `{}`", input::name(path));
    }
    found.sort();
    Ok(found)
}

/// What is in a folder; nothing if it has gone.
fn entries(of: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let failed = || format!("failed to read the folder `{}`", of.display());
    match fs::read_dir(of) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        entries => entries
            .with_context(failed)?
            .map(|entry| Ok(entry.with_context(failed)?.path()))
            .collect::<anyhow::Result<_>>(),
    }
}
