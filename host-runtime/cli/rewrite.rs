//! `kperf-wasm rewrite`: adds probes to modules that run elsewhere.

mod host;

use crate::shared::flags::probes::{self, ProbeArg, ProbeArgs};
use crate::shared::flags::sampling::SpanMin;
use crate::shared::input;
use crate::shared::output;
use crate::shared::product::{self, Product, is_same};
use crate::shared::symbols;
use anyhow::{Context, bail};
use host::HostArgs;
use kperf_abi::SymbolTable;
use kperf_rewriter::{
    Decision, Options, Plan, Recording, RewrittenComponent, SkipReason, SymbolFile, Warning,
};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use wasmparser::{Validator, WasmFeatures};

/// Add enter/leave probes to modules and components
///
/// Every function then calls `kperf.enter` and `kperf.leave`, which the host must supply (`kperf-wasm run` does). With
/// `--probe inline` the module contains its own recorder and imports `kperf:host.now` and `kperf:host.flush` instead. With
/// `--probe self` it needs nothing of its host, and writes its trace itself. In a
/// component every core module gets probes, and a recorder is added beside them, which imports the instance
/// `kperf:host/recorder`. A summary is written to stderr.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Opts {
    /// The modules or components, binary or text; `-` is stdin. Several modules get different function ids, so that they can run in one
    /// program.
    #[arg(required = true, value_name = "MODULE")]
    modules: Vec<PathBuf>,
    /// Where to write: a file, `-` for stdout, a folder for several modules [default: NAME.probed.wasm beside the input]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    probes: ProbeArgs,
    #[command(flatten)]
    host: HostArgs,
    /// Probe calls of imported functions too, so that their time is shown beside the guest's. Engine builtins (`wasm:*`) get
    /// no probes.
    #[arg(long, help_heading = "Which functions")]
    imports: bool,
    /// The times of events: the host's, or the number of instructions that the module has executed. The module counts these itself, with
    /// inlined probes; they are the same on every machine and in every run.
    #[arg(long, value_enum, value_name = "CLOCK", default_value = "host")]
    clock: ClockArg,
    /// With `--probe self`: where the module writes its trace, in the first folder that it is given and that takes it [default: the
    /// module's name with `.kperf`]. `-`: to stderr, as lines of a log, which all commands read. The variable `KPERF_TRACE` in the module's environment is stronger; if it is empty, no file is written.
    #[arg(long, value_name = "PATH")]
    trace: Option<String>,
    /// The first function id.
    #[arg(long, value_name = "N", default_value_t = 0)]
    id_base: u32,
    /// Write the symbol table as JSON too; `-` is stdout.
    #[arg(long, value_name = "FILE")]
    symbol_table: Option<PathBuf>,
    /// Only list which functions would get a probe, and why the others wouldn't. Writes no module.
    #[arg(long)]
    list: bool,
    /// Validate the result.
    #[arg(long)]
    validate: bool,
}

/// `--clock`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ClockArg {
    Host,
    Instructions,
}

const EXAMPLES: &str = "\
Examples:
  kperf-wasm rewrite app.wasm -o probed.wasm
  kperf-wasm rewrite app.wasm --only 'app::*' --skip '/alloc|fmt/' --list
  kperf-wasm rewrite app.wasm -o counted.wasm --clock instructions
  kperf-wasm rewrite app.wasm -o recorded.wasm --probe self      runs anywhere, writes app.kperf
  kperf-wasm rewrite main.wasm side.wasm -o probed/      two modules of one program
  kperf-wasm rewrite - -o - < app.wasm > probed.wasm

Exit codes:
  0 success, 1 failure (also if a filter leaves no function), 2 wrong usage";

impl Opts {
    pub fn run(self) -> anyhow::Result<ExitCode> {
        if let Some(SpanMin::Time(_)) = self.probes.record.span_min {
            bail!(
                "`rewrite` takes only `--span-min off`; give the duration to `run`, which takes the samples"
            );
        }
        if self.trace.is_some() && self.modules.len() > 1 {
            bail!("--trace names the file of one module; rewrite them one by one");
        }
        if self.trace.is_some() && self.probes.probe != ProbeArg::Itself {
            bail!("--trace is for --probe self; hosts of other probes name the trace");
        }
        let targets = self.targets()?;
        let mut id_base = self.id_base;
        let mut tables = Vec::new();
        for (path, target) in self.modules.iter().zip(&targets) {
            let module = input::read_module(path)?;
            let name = input::module_name(path);
            let options = match self.clock {
                ClockArg::Host => self.probes.options(name, self.imports, id_base, Recording::imported())?,
                ClockArg::Instructions => {
                    let is_component = kperf_rewriter::is_component(&module);
                    let auto = if is_component { Recording::imported() } else { Recording::inline() };
                    self.probes.counting(name, self.imports, id_base, auto)?
                }
            };
            let mut options = self.host.apply(options)?;
            options.validate = self.validate;
            options.trace_path.clone_from(&self.trace);
            let mut names_from = self.probes.symbols().map(Path::to_owned);
            if options.names.is_none()
                && !kperf_rewriter::is_component(&module)
                && let Some((found, file)) = symbols::of_module(path, &module)
            {
                (names_from, options.names) = (Some(found), Some(file));
            }
            let context = || format!("failed to rewrite `{}`", input::name(path));
            // The rewriter below reports a module that can't be read.
            if matches!(kperf_rewriter::probed(&module), Ok(Some(_))) {
                bail!("`{}` has probes already; rewrite the original", input::name(path));
            }
            if self.validate {
                let mut validator = Validator::new_with_features(WasmFeatures::all());
                let valid = validator.validate_all(&module);
                valid.with_context(|| format!("`{}` is invalid", input::name(path)))?;
            }
            if self.list {
                output::print(&listed(&module, &options).with_context(context)?)?;
                continue;
            }
            let map = map_beside(target).filter(|_| matches!(options.names, Some(SymbolFile::SourceMap(_))));
            if let (Some((path, _)), Some(names)) = (&map, &names_from) {
                product::keep(names, path)?;
            }
            options.source_map_url = map.as_ref().map(|(_, name)| name.clone());
            let begun = Instant::now();
            let rewritten = Rewritten::of(&module, &options).with_context(context)?;
            if let Some(folder) = self.folder() {
                std::fs::create_dir_all(folder)
                    .with_context(|| format!("failed to make the folder `{}`", folder.display()))?;
            }
            Product::write(target, true, &rewritten.wasm)?;
            if let (Some((path, _)), Some(map)) = (&map, &rewritten.source_map) {
                Product::write(path, false, map.as_bytes())?;
            }
            output::status(summary(path, target, module.len(), &rewritten, begun));
            probes::report_warnings(&rewritten.warnings);
            rewritten.symbols.iter().for_each(probes::report_allocators);
            id_base = rewritten.symbols.last().map_or(id_base, SymbolTable::id_end);
            tables.extend(rewritten.symbols);
        }
        if let Some(path) = &self.symbol_table {
            let json = match tables.as_slice() {
                [table] => serde_json::to_string_pretty(table)?,
                tables => serde_json::to_string_pretty(tables)?,
            };
            if path == Path::new("-") {
                output::print(&(json + "\n"))?;
            } else {
                Product::write(path, false, (json + "\n").as_bytes())?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Where each rewritten module goes. Fails if that would overwrite an input, or write one file twice.
    fn targets(&self) -> anyhow::Result<Vec<PathBuf>> {
        if self.modules.len() > 1 && self.output.as_deref() == Some(Path::new("-")) {
            bail!("several modules can't go to stdout; name a folder with -o");
        }
        let targets: Vec<PathBuf> = self.modules.iter().map(|module| self.target(module)).collect();
        if self.list {
            return Ok(targets);
        }
        for (n, (path, flag)) in targets
            .iter()
            .map(|path| (path, "-o"))
            .chain(self.symbol_table.iter().map(|path| (path, "--symbol-table")))
            .enumerate()
        {
            if self.modules.iter().any(|module| is_same(module, path)) {
                bail!(
                    "`{}` is an input and would be overwritten; name another file with {flag}",
                    path.display()
                );
            }
            if targets.iter().take(n).any(|before| before == path) {
                bail!("`{}` would be written twice; name another file with {flag}", path.display());
            }
        }
        Ok(targets)
    }

    fn target(&self, module: &Path) -> PathBuf {
        let name = input::module_name(module);
        match (self.folder(), &self.output) {
            (Some(folder), _) => folder.join(format!("{name}.wasm")),
            (None, Some(file)) => file.clone(),
            (None, None) if module == Path::new("-") => PathBuf::from("-"),
            (None, None) => module.with_file_name(format!("{name}.probed.wasm")),
        }
    }

    /// The output, if it is a folder.
    fn folder(&self) -> Option<&Path> {
        self.output.as_deref().filter(|output| self.modules.len() > 1 || output.is_dir())
    }
}

/// The file for the source map of a rewritten module, and its name. None for what goes to stdout or to a device.
fn map_beside(target: &Path) -> Option<(PathBuf, String)> {
    let is_file = target != Path::new("-") && (target.is_file() || !target.exists());
    let name = format!("{}.map", target.file_name().filter(|_| is_file)?.to_str()?);
    Some((target.with_file_name(&name), name))
}

/// A module or a component with probes.
struct Rewritten {
    wasm: Vec<u8>,
    /// Of the modules with probes; a single module always has one.
    symbols: Vec<SymbolTable>,
    plans: Vec<Plan>,
    /// How many exported functions of a component have probes. They have symbols too.
    exports: usize,
    warnings: Vec<Warning>,
    /// The module's source map, if it has one beside it.
    source_map: Option<String>,
}

impl Rewritten {
    fn of(wasm: &[u8], options: &Options) -> anyhow::Result<Rewritten> {
        if kperf_rewriter::is_component(wasm) {
            let rewritten = kperf_rewriter::rewrite_component(wasm, options)?;
            let symbols = rewritten.symbols().cloned().collect();
            let RewrittenComponent { wasm, modules, exports, warnings } = rewritten;
            let plans = modules.into_iter().filter_map(|module| module.plan).collect();
            let exports = exports.iter().map(|table| table.symbols.len()).sum();
            return Ok(Rewritten { wasm, symbols, plans, exports, warnings, source_map: None });
        }
        let kperf_rewriter::Rewritten { wasm, symbols, plan, warnings, source_map } =
            kperf_rewriter::rewrite(wasm, options)?;
        let (symbols, plans) = (vec![symbols], vec![plan]);
        Ok(Rewritten { wasm, symbols, plans, exports: 0, warnings, source_map })
    }

    fn counted(&self) -> usize {
        self.plans.iter().map(Plan::counted).sum()
    }

    fn skipped(&self) -> BTreeMap<SkipReason, usize> {
        let mut all = BTreeMap::new();
        for (reason, count) in self.plans.iter().flat_map(Plan::skipped) {
            *all.entry(reason).or_default() += count;
        }
        all
    }
}

/// Which functions would get probes, for a component module by module.
fn listed(wasm: &[u8], options: &Options) -> anyhow::Result<String> {
    if !kperf_rewriter::is_component(wasm) {
        return Ok(list(&kperf_rewriter::plan(wasm, options)?));
    }
    let mut text = String::new();
    let RewrittenComponent { modules, exports, .. } = kperf_rewriter::rewrite_component(wasm, options)?;
    for module in modules {
        let functions = match (&module.plan, module.left) {
            (Some(plan), _) => list(plan),
            (None, left) => left.map(|left| format!("no probes: {left}\n")).unwrap_or_default(),
        };
        let _ = write!(text, "{}\n{functions}", kperf_profile::printable(&module.name));
    }
    for table in exports {
        let _ = writeln!(text, "{}", kperf_profile::printable(&table.module.name));
        for symbol in &table.symbols {
            let _ = writeln!(text, "{:>8}  {}", symbol.id.0, kperf_profile::printable(&symbol.name));
        }
    }
    Ok(text)
}

fn summary(module: &Path, target: &Path, size: usize, rewritten: &Rewritten, begun: Instant) -> String {
    let after = rewritten.wasm.len();
    let growth = if size == 0 { 0.0 } else { 100.0 * (after as f64 - size as f64) / size as f64 };
    let mut text = format!(
        "{} -> {}: {} of {} functions probed, {size} -> {after} bytes ({growth:+.1} %), {:.0?}",
        input::name(module),
        if target == Path::new("-") { "stdout".to_owned() } else { target.display().to_string() },
        rewritten.symbols.iter().map(|table| table.symbols.len()).sum::<usize>() - rewritten.exports,
        rewritten.plans.iter().map(|plan| plan.functions.len()).sum::<usize>(),
        begun.elapsed(),
    );
    if rewritten.exports > 0 {
        let _ = write!(text, "\n  and {} exported functions, by their names in WIT", rewritten.exports);
    }
    let counted = rewritten.counted();
    if counted > 0 {
        let _ = write!(text, "\n  {counted} counted only: their time is part of their callers'");
    }
    for (reason, count) in rewritten.skipped() {
        let _ = write!(text, "\n  {count} without a probe: {}", why(reason));
    }
    text
}

fn list(plan: &Plan) -> String {
    let mut text = String::new();
    for function in &plan.functions {
        let name = function.display_name();
        let _ = match function.decision {
            Decision::Probe(id) => {
                let counted = if function.counted { ": counted only" } else { "" };
                writeln!(text, "{:>8}  func[{}] {name}{counted}", id.0, function.index.0)
            }
            Decision::Skip(reason) => {
                writeln!(text, "{:>8}  func[{}] {name}: {}", "-", function.index.0, why(reason))
            }
        };
    }
    let probed = plan.probed().count();
    let counted = match plan.counted() {
        0 => String::new(),
        counted => format!(" ({counted} counted only)"),
    };
    let _ = writeln!(text, "{probed} probed{counted}, {} not", plan.functions.len() - probed);
    text
}

/// Why functions have no probe, with the flag that gives them one.
fn why(reason: SkipReason) -> String {
    match reason {
        SkipReason::Host => format!("{reason} (--imports)"),
        reason => reason.to_string(),
    }
}
