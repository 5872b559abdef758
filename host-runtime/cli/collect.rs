//! `kperf-wasm collect`: many traces as tables that query engines read.

mod compact;
mod known;
mod sql;
pub mod store;

use crate::input;
use crate::output::{print, tell};
use crate::spans::environment;
use crate::symbols::SymbolArgs;
use crate::table::plural;
use crate::traces::{Again, Trace};
use anyhow::{Context, bail};
use known::KnownRuns;
use kperf_profile::dataset::{
    self, CallRow, CallRows, Collected, FunctionRow, Options, PathRow, RunRow, SpanRow, StatRow,
};
use sql::Engine;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use store::{Known, Partition, Store};

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
    #[arg(long, value_name = "N", default_value_t = MAX_SPANS)]
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

/// The defaults of --span-min and --max-spans.
const SPAN_MIN: Duration = Duration::from_millis(10);
const MAX_SPANS: usize = 1000;

/// What became of a trace.
enum Taken {
    New,
    /// It has grown since it was taken.
    Grown,
    Before,
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
            span_min: SPAN_MIN,
            max_spans: MAX_SPANS,
            compact: false,
            sql: None,
            quiet,
            symbols: SymbolArgs::default(),
        }
    }

    /// Collects. Traces that can't be read are told, and the others taken all the same.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        if self.traces.is_empty() && !self.compact && self.sql.is_none() {
            bail!("name traces, folders with traces, or `-` for stdin");
        }
        let inputs =
            self.traces.iter().map(|path| store::traces(path)).collect::<anyhow::Result<Vec<_>>>()?.concat();
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
        {
            let _lock = store.lock()?;
            store.sweep()?;
        }
        let labels = self.labels()?;
        let mut known = KnownRuns::of(store)?;
        let (mut new, mut grown, mut before, mut failed) = (0u64, 0u64, 0u64, 0u64);
        for path in inputs {
            match self.take(store, path, &labels, &mut known) {
                Ok(Taken::New) => new += 1,
                Ok(Taken::Grown) => grown += 1,
                Ok(Taken::Before) => before += 1,
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
        self.say(format_args!("{}: {}, {} in all", store.root().display(), told.join(", "), known.len()));
        Ok(failed)
    }

    fn labels(&self) -> anyhow::Result<Labels> {
        let (service, mut attributes) = environment()?;
        let mut take = |key: &str| {
            let at = attributes.iter().position(|(name, _)| name == key)?;
            Some(attributes.remove(at).1)
        };
        let (of_service, version, host) = (take("service.name"), take("service.version"), take("host.name"));
        for text in &self.attributes {
            let (name, value) =
                text.split_once('=').with_context(|| format!("`{text}` is no attribute; give NAME=VALUE"))?;
            attributes.push((name.to_owned(), value.to_owned()));
        }
        let attributes: serde_json::Map<String, serde_json::Value> =
            attributes.into_iter().map(|(name, value)| (name, value.into())).collect();
        Ok(Labels {
            service: self.service_name.clone().or(service).or(of_service),
            version: self.service_version.clone().or(version),
            host: self.host.clone().or(host).unwrap_or_default(),
            attributes: serde_json::to_string(&attributes)?,
        })
    }

    fn take(
        &self,
        store: &Store,
        path: &Path,
        labels: &Labels,
        known: &mut KnownRuns<'_>,
    ) -> anyhow::Result<Taken> {
        let again = Again::new(path)?;
        let Trace { reader, progress } = again.open(&self.symbols)?;
        let length =
            path.metadata().ok().filter(|metadata| metadata.is_file()).map(|metadata| metadata.len());
        let run_id = match &self.run_id {
            Some(name) => dataset::named_run_id(name),
            None => dataset::run_id(reader.header()),
        };
        let earlier = known.get(run_id)?;
        let earlier = earlier.as_ref();
        if let (Some(earlier), Some(length)) = (earlier, length)
            && earlier.row.trace_bytes == length
        {
            return Ok(Taken::Before);
        }
        let options = Options {
            run_id,
            generation: earlier.map_or(0, |earlier| earlier.row.generation + 1),
            name: input::module_name(path),
            version: labels.version.clone(),
            host: labels.host.clone(),
            attributes: labels.attributes.clone(),
            span_min_nanos: u64::try_from(self.span_min.as_nanos()).unwrap_or(u64::MAX),
            max_spans: self.max_spans,
        };
        let collected = dataset::collect(reader, &options, |bytes| progress.set_position(bytes));
        progress.finish_and_clear();
        let mut collected =
            collected.with_context(|| format!("failed to read the trace `{}`", input::name(path)))?;
        if let Some(length) = length {
            collected.run.trace_bytes = length;
        }
        if let Some(earlier) = earlier {
            let (then, now) = (earlier.row.trace_bytes, collected.run.trace_bytes);
            if then == now || now < then && !earlier.row.complete {
                return Ok(Taken::Before);
            }
            if earlier.row.complete {
                bail!(
                    "`{}` is of the same run as `{}`, which was taken ({then} bytes, not {now}); if it is another run, \
                     name it with --run-id",
                    input::name(path),
                    earlier.row.name
                );
            }
        }
        for warning in &collected.warnings {
            tell(format_args!("warning: {}: {warning}", input::name(path)));
        }
        let service = labels.service.as_deref().unwrap_or(&collected.module);
        let partition = match earlier {
            Some(earlier) => earlier.partition.clone(),
            None => Partition::new(service, collected.run.start),
        };
        self.place(store, &again, &partition, &collected, earlier)?;
        let taken = if earlier.is_some() { Taken::Grown } else { Taken::New };
        known.insert(Known { row: collected.run, partition });
        Ok(taken)
    }

    /// Writes the rows of a run, the run itself last.
    fn place(
        &self,
        store: &Store,
        again: &Again,
        partition: &Partition,
        collected: &Collected,
        earlier: Option<&Known>,
    ) -> anyhow::Result<()> {
        let name = file_name(&collected.run);
        let _lock = store.lock()?;
        if store.has_in_any_service::<RunRow>(partition, &name)? {
            // Another process was faster.
            return Ok(());
        }
        store.write_common::<FunctionRow>(partition, &collected.functions)?;
        store.write_common::<PathRow>(partition, &collected.paths)?;
        store.write::<StatRow>(partition, &name, &collected.stats)?;
        if collected.spans.is_empty() {
            // Engines want a file in each table.
            store.write_common::<SpanRow>(partition, &[])?;
            // Of a process that was killed, with other limits.
            store.delete::<SpanRow>(partition, &name)?;
        } else {
            store.write::<SpanRow>(partition, &name, &collected.spans)?;
        }
        if self.calls {
            let Trace { reader, .. } = again.open(&self.symbols)?;
            let rows = CallRows { run_id: collected.run.run_id };
            let name = format!("r-{:016x}", collected.run.run_id);
            store.write_with::<CallRow>(partition, &name, |out| rows.write(reader, out))?;
        }
        store.write::<RunRow>(partition, &name, std::slice::from_ref(&collected.run))?;
        if let Some(earlier) = earlier {
            let name = file_name(&earlier.row);
            store.delete::<RunRow>(&earlier.partition, &name)?;
            store.delete::<StatRow>(&earlier.partition, &name)?;
            store.delete::<SpanRow>(&earlier.partition, &name)?;
        }
        Ok(())
    }
}

/// The name of the files of one run.
fn file_name(run: &RunRow) -> String {
    format!("r-{:016x}-{}", run.run_id, run.generation)
}

/// What is said of all runs.
struct Labels {
    service: Option<String>,
    version: Option<String>,
    host: String,
    attributes: String,
}
