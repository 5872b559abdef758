//! `kperf-wasm collect`: many traces as tables that query engines read.

mod compact;
mod sql;

use crate::shared::input;
use crate::shared::output::{self, print};
use crate::shared::symbols::SymbolArgs;
use crate::shared::table::plural;
use crate::shared::traces::dataset::names_of;
use crate::shared::traces::{self, Trace};
use anyhow::{Context, bail};
use indicatif::ProgressBar;
use kperf_dataset::{Added, Adder, Error, Labels, Options, Store};
use kperf_otlp::ResourceOptions;
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
/// histogram of durations) and `spans` (slow calls), for each service and day. Traces already in the
/// dataset are skipped, so collecting is safe to repeat, to run concurrently, and to interrupt. `report`, `flame` and `diff`
/// read a dataset too: `--where "version = 'b'"` chooses runs.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Opts {
    /// Traces, folders with traces (`*.kperf`), or `-` for stdin.
    #[arg(value_name = "TRACE|DIR")]
    traces: Vec<PathBuf>,
    /// The dataset's folder.
    #[arg(short, long, value_name = "DIR")]
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
    /// An attribute of the runs, for the column `attributes`. May be repeated.
    #[arg(long = "attribute", value_name = "NAME=VALUE")]
    attributes: Vec<String>,
    /// Identify the run by this name instead of by the start in its trace. Only with one trace.
    #[arg(long, value_name = "NAME")]
    run_id: Option<String>,
    /// Also write a row for each call, to the table `calls`.
    #[arg(long)]
    calls: bool,
    /// Write a row in `spans` for calls that took at least this long.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration, default_value = "10ms")]
    span_min: Duration,
    /// Write at most N such rows for a run, for the longest calls.
    #[arg(long, value_name = "N", default_value_t = Options::MAX_SPANS)]
    max_spans: usize,
    /// Join the small files of a day after all traces are collected.
    #[arg(long)]
    compact: bool,
    /// Take damaged files out of the dataset, and the runs that can't be read without them. Their traces may be collected again.
    #[arg(long)]
    repair: bool,
    /// Print views for the usual questions, for `duckdb`, `datafusion` or `spark`.
    #[arg(long, value_enum, value_name = "ENGINE", num_args = 0..=1, default_missing_value = "duckdb")]
    sql: Option<Engine>,
    /// Print only warnings and errors.
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
  kperf-wasm collect -o dataset/ --repair
  kperf-wasm collect -o dataset/ --sql | duckdb fleet.db
  kperf-wasm report dataset/ --where \"version = 'b' and host = 'web-3'\"

Exit codes:
  0 everything is in the dataset, 1 failure, also of single traces, 2 wrong usage";

impl Opts {
    /// Collects. Reports traces that can't be read, and collects the others.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        if self.output == Path::new("-") {
            bail!("a dataset is a folder; give one with -o");
        }
        if self.traces.is_empty() && !self.compact && !self.repair && self.sql.is_none() {
            bail!("give traces, folders with traces, or `-` for stdin");
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
        if self.repair {
            self.repair(&store)?;
        }
        let failed = self.add_all(&store, &inputs).map_err(|error| with_advice(error, &store))?;
        if self.compact {
            let summary = compact::compact(&store).map_err(|error| with_advice(error, &store))?;
            self.status(format_args!("{}: {summary}", store.root().display()));
        }
        if let Some(engine) = self.sql {
            print(&sql::views(&store, engine)?)?;
        }
        Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn repair(&self, store: &Store) -> anyhow::Result<()> {
        let damage = kperf_dataset::repair(store)?;
        for (file, why) in &damage.files {
            output::warn(format_args!("`{}` was damaged: {why}", store.root().join(file).display()));
        }
        let (files, runs) =
            (plural(damage.files.len() as u64, "damaged file"), plural(damage.runs.len() as u64, "run"));
        self.status(format_args!(
            "{}: took out {files} and {runs}{}",
            store.root().display(),
            names_of(&damage)
        ));
        Ok(())
    }

    fn status(&self, text: impl std::fmt::Display) {
        if !self.quiet {
            output::status(text);
        }
    }

    /// Adds all traces. Returns the number of failures.
    fn add_all(&self, store: &Store, inputs: &[PathBuf]) -> anyhow::Result<u64> {
        if inputs.is_empty() {
            return Ok(0);
        }
        let mut adder = Adder::new(store, self.options()?)?;
        let (mut new, mut grown, mut before, mut failed) = (0u64, 0u64, 0u64, 0u64);
        for path in inputs {
            match self.add(&mut adder, path) {
                Ok(Added::New) => new += 1,
                Ok(Added::Grown) => grown += 1,
                Ok(Added::Before) => before += 1,
                Err(error) if inputs.len() == 1 => return Err(error),
                Err(error) => {
                    failed += 1;
                    output::error(format_args!("{error:#}"));
                }
            }
        }
        let mut counts = vec![format!("{} new", plural(new, "run"))];
        let others = [(grown, "grown"), (before, "collected before"), (failed, "failed")];
        counts.extend(
            others.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")),
        );
        self.status(format_args!(
            "{}: {}, {} in all",
            store.root().display(),
            counts.join(", "),
            adder.runs()
        ));
        Ok(failed)
    }

    fn options(&self) -> anyhow::Result<Options> {
        let ResourceOptions { service_name: service, attributes } = ResourceOptions::from_env()?;
        let of_resource = Labels::of_resource(attributes);
        let mut attributes = of_resource.attributes;
        for text in &self.attributes {
            let (name, value) = text
                .split_once('=')
                .with_context(|| format!("`{text}` is not an attribute; give NAME=VALUE"))?;
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

    fn add(&self, adder: &mut Adder<'_>, path: &Path) -> anyhow::Result<Added> {
        let source = traces::source(path).symbols(&self.symbols).rewindable()?;
        let length =
            path.metadata().ok().filter(|metadata| metadata.is_file()).map(|metadata| metadata.len());
        let (shown, name) = (input::name(path), input::module_name(path));
        let trace = kperf_dataset::Trace { shown: &shown, name: &name, length };
        let bar = RefCell::new(ProgressBar::hidden());
        let open = || {
            let opened = source.open();
            let Trace { reader, progress, .. } = opened.map_err(|error| Error::new(format!("{error:#}")))?;
            bar.replace(progress);
            Ok(reader)
        };
        let outcome = adder.add(trace, open, |bytes| bar.borrow().set_position(bytes));
        bar.borrow().finish_and_clear();
        let outcome = outcome?;
        for warning in &outcome.warnings {
            output::warn(format_args!("{shown}: {warning}"));
        }
        Ok(outcome.added)
    }
}

/// What helps if a file of the dataset is damaged.
fn with_advice(error: anyhow::Error, store: &Store) -> anyhow::Error {
    match kperf_dataset::find_damage(store) {
        Ok(damage) if !damage.files.is_empty() => error.context(format!(
            "the dataset has {}; `kperf-wasm collect --repair -o {}` takes them out",
            plural(damage.files.len() as u64, "damaged file"),
            store.root().display()
        )),
        _ => error,
    }
}

/// The traces at a path: the file itself, or all `.kperf` files in the folder, recursively.
fn traces(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if path == Path::new("-") || !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let (mut found, mut folders) = (Vec::new(), vec![path.to_owned()]);
    while let Some(folder) = folders.pop() {
        for path in entries(&folder)? {
            // A link to a folder may make a cycle.
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

/// The entries of a folder; none if it was deleted.
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
