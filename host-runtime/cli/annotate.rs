//! `kperf-wasm annotate`: shows the source of a function with its figures.

mod listing;
mod source;
mod wat;

use crate::shared::flags::filters::CallArgs;
use crate::shared::input;
use crate::shared::output;
use crate::shared::table::{grouped, plural};
use crate::shared::traces;
use anyhow::{Context, bail};
use kperf_profile::{FlatProfile, Lines, Profile, Row, Unit, printable};
use kperf_rewriter::Pattern;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Show the source of a function beside its self time, line by line, and the calls that each line makes
///
/// Self time by line needs a native profile (`run --record profile` on Linux on x86-64). A trace only shows the calls
/// of each line; a function that is called on several lines has one figure for all of them. Without
/// debug information, or without its source files, the function is shown in the text format of WebAssembly.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Opts {
    /// The functions: a glob or a `/regex/` of their names.
    #[arg(value_name = "FUNCTION")]
    function: String,
    /// The trace, or `-` for stdin.
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    #[command(flatten)]
    sources: SourceArgs,
    /// How many lines to show around those with figures.
    #[arg(long, value_name = "LINES", default_value_t = 3)]
    context: u32,
    /// How many functions to show if several match, those with the most self time first; 0 for all.
    #[arg(long, value_name = "N", default_value_t = 1)]
    limit: usize,
    #[command(flatten)]
    calls: CallArgs,
}

const EXAMPLES: &str = "\
Examples:
  kperf-wasm annotate life::step app.kperf
  kperf-wasm annotate '*::parse*' app.kperf --limit 3 --source ~/src/app
  kperf-wasm annotate main app.kperf --wat

Exit codes:
  0 fine, 1 failure, 2 wrong usage";

/// At most three functions with inlined copies of the function, the most self time first.
fn inlined_in(profile: &Profile, flat: &FlatProfile, pattern: &Pattern) -> Option<Vec<String>> {
    let mut rows: Vec<&Row> = flat.rows.iter().collect();
    rows.sort_by(|a, b| b.self_nanos.total_cmp(&a.self_nanos));
    let is_in = |row: &&Row| {
        let calls = profile.symbols.code(row.func).inlined.calls;
        calls.iter().any(|call| {
            let inlined = profile.symbols.inlined(row.func, call.function);
            inlined.is_some_and(|inlined| pattern.matches(&inlined.name))
        })
    };
    let around: Vec<String> =
        rows.into_iter().filter(is_in).take(3).map(|row| printable(&row.name).into_owned()).collect();
    (!around.is_empty()).then_some(around)
}

/// Where sources are.
#[derive(clap::Args)]
struct SourceArgs {
    /// A folder with source files that were moved after the module was compiled. May be repeated.
    #[arg(long, value_name = "FOLDER")]
    source: Vec<PathBuf>,
    /// Show WebAssembly in the text format even if there is source.
    #[arg(long)]
    wat: bool,
    /// The original module, for its text [default: the one that was run, if it is still the same]
    #[arg(long, value_name = "FILE.wasm")]
    module: Option<PathBuf>,
}

/// What all listings share.
struct Listed<'a> {
    profile: &'a Profile,
    lines: &'a Lines,
    unit: Unit,
    context: u32,
}

impl Opts {
    /// Prints the functions. Fails if none matches.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        if !self.trace.exists() && self.trace.as_os_str() != "-" && Path::new(&self.function).is_file() {
            bail!(
                "there is no trace `{0}`; the function comes first: kperf-wasm annotate {0} {1}",
                self.trace.display(),
                self.function
            );
        }
        let profile = traces::source(&self.trace).calls(&self.calls.parse()?).profile()?;
        let flat = FlatProfile::new(&profile.tree, &profile.symbols, &profile.header, None);
        let rows = self.chosen(&profile, &flat)?;
        traces::report_health(&profile.health);
        let mut out = BufWriter::new(io::stdout().lock());
        for (n, row) in rows.iter().enumerate() {
            if n > 0 {
                writeln!(out).context("failed to write to stdout")?;
            }
            if let Some(hint) = self.sources.write(&profile, row, self.context, &mut out)? {
                output::hint(hint);
            }
        }
        out.flush().context("failed to write to stdout")?;
        Ok(ExitCode::SUCCESS)
    }

    /// The functions that match, those with the most self time first.
    fn chosen<'a>(&self, profile: &Profile, flat: &'a FlatProfile) -> anyhow::Result<Vec<&'a Row>> {
        let pattern = Pattern::parse(&self.function).context("failed to read the pattern")?;
        let matches = |row: &&Row| pattern.matches_function(&row.name, || profile.symbols.label(row.func));
        let mut rows: Vec<&Row> = flat.rows.iter().filter(matches).collect();
        if rows.is_empty() {
            if let Some(around) = inlined_in(profile, flat, &pattern) {
                bail!(
                    "`{}` matches none of the functions that were called: it is inlined in `{}`; annotate that",
                    self.function,
                    around.join("`, `")
                );
            }
            let names = flat.rows.iter().map(|row| &*row.name);
            let hint = pattern.hint(names).map(|hint| format!("; did you mean `{}`?", printable(&hint)));
            let (count, hint) = (flat.rows.len(), hint.unwrap_or_default());
            bail!("`{}` matches none of the {count} functions that were called{hint}", self.function);
        }
        if self.limit > 0 && rows.len() > self.limit {
            let more = plural((rows.len() - self.limit) as u64, "more function");
            output::hint(format_args!("{more} match; --limit 0 shows all"));
            rows.truncate(self.limit);
        }
        Ok(rows)
    }
}

impl SourceArgs {
    /// Writes the source of a function with its figures, and `context` lines around lines with figures. Returns a hint.
    fn write(
        &self,
        profile: &Profile,
        row: &Row,
        context: u32,
        out: &mut impl Write,
    ) -> anyhow::Result<Option<String>> {
        let lines = Lines::new(profile, None, |func| func == row.func);
        let unit = Unit::of(&profile.header);
        let listed = Listed { profile, lines: &lines, unit, context };
        let failed = "failed to write to stdout";
        head(profile, row, unit, out).context(failed)?;
        if profile.symbols.get(row.func).is_some_and(|symbol| symbol.imported) {
            listing::write_bare(&listed, row, out).context(failed)?;
            return Ok(Some(format!(
                "`{}` is a function of the host: there is nothing to show",
                printable(&row.name)
            )));
        }
        let mut why_not = None;
        if !self.wat {
            match listing::write(&listed, row, &self.source, out).context(failed)? {
                Ok(hint) => return Ok(hint),
                Err(why) => why_not = Some(why),
            }
        }
        match self.module_of(profile, row).and_then(|wasm| wat::of_function(&wasm, profile, row.func)) {
            Ok(text) => {
                wat::write(&listed, row, &text, out).context(failed)?;
                Ok(why_not.map(|why| format!("{why}; this is WebAssembly")))
            }
            Err(error) => match why_not {
                Some(why) => {
                    listing::write_bare(&listed, row, out).context(failed)?;
                    Ok(Some(format!("{why}, and there is no WebAssembly to show instead: {error:#}")))
                }
                None => Err(error),
            },
        }
    }

    /// The original module of a function: the one that was given, or one that the trace's command names. It must be of the same
    /// build.
    fn module_of(&self, profile: &Profile, row: &Row) -> anyhow::Result<Vec<u8>> {
        let table = profile.symbols.tables().iter().find(|table| table.get(row.func).is_some());
        let table = table.context("the trace doesn't say which module has the function")?;
        let named = profile.header.command.iter().map(Path::new);
        let is_module = |path: &&Path| path.extension().is_some_and(|end| end == "wasm" || end == "wat");
        let mut candidates: Vec<&Path> = match &self.module {
            Some(path) => vec![path],
            None => named.filter(is_module).filter(|path| path.is_file()).collect(),
        };
        candidates.dedup();
        for path in &candidates {
            let wasm = input::read_module(path)?;
            let module = kperf_rewriter::identity(&wasm, "").context("not a module")?;
            let is_same = module.sha256 == table.module.sha256
                || module.code.is_some() && module.code == table.module.code;
            if is_same {
                return Ok(wasm);
            }
            if self.module.is_some() {
                let name = printable(&table.module.name);
                bail!("`{}` is not the trace's module `{name}`, or another build of it", path.display());
            }
        }
        bail!(
            "the module `{}` is not where it was run, or is another build; give it with --module",
            printable(&table.module.name)
        );
    }
}

/// Writes the function's own figures.
fn head(profile: &Profile, row: &Row, unit: Unit, out: &mut impl Write) -> io::Result<()> {
    let self_time = unit.text(row.self_nanos.round() as u64);
    let share = 100.0 * row.share;
    write!(
        out,
        "# {}: {} self ({share:.1} %), {} calls",
        profile.symbols.label(row.func),
        self_time,
        grouped(row.calls)
    )?;
    match profile.symbols.source(row.func) {
        Some((file, line)) => writeln!(out, ", {}:{line}", printable(file)),
        None => writeln!(out),
    }
}

/// The figures before a line, in columns of equal width.
fn figures(self_nanos: Option<f64>, of: f64, calls: u64, took: f64, unit: Unit) -> String {
    let percent = |nanos: f64| format!("{:.1} %", 100.0 * nanos / of);
    let share = self_nanos.filter(|_| of > 0.0).map_or(String::new(), percent);
    let self_time = self_nanos.map_or(String::new(), |nanos| unit.text(nanos.round() as u64));
    let (calls, took) = match calls {
        0 => (String::new(), String::new()),
        calls => (grouped(calls), unit.text(took.round() as u64)),
    };
    format!("{share:>7} {self_time:>9} {calls:>11} {took:>9}")
}

/// The titles of these columns.
const TITLES: &str = "   self      self       calls they took";
