//! `kperf-wasm rewrite`: the pass alone, for modules that run elsewhere.

use crate::input;
use crate::output::{self, tell};
use crate::probes::{self, ProbeArgs};
use crate::sampling::SpanMin;
use anyhow::{Context, bail};
use kperf_rewriter::{Decision, Plan, Probe, Rewritten};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use wasmparser::{Validator, WasmFeatures};

/// Put enter/leave probes into modules
///
/// Every function calls `kperf.enter` and `kperf.leave`, which a host must supply (`kperf-wasm run` does). With `--probe
/// inline` the module has its own recorder, and wants `kperf:host.now` and `kperf:host.flush`. What was done is told on
/// stderr.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Opts {
    /// The modules, binary or text; `-` is stdin. Several get disjoint ids, so that they can run in one program.
    #[arg(required = true, value_name = "MODULE")]
    modules: Vec<PathBuf>,
    /// Where to write: a file, `-` for stdout, a folder for several modules [default: NAME.probed.wasm beside the input]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    probes: ProbeArgs,
    /// Probe calls of the host's functions too, so that their time stands beside the guest's. Engine builtins never.
    #[arg(long, help_heading = "Which functions")]
    imports: bool,
    /// The first function id.
    #[arg(long, value_name = "N", default_value_t = 0)]
    id_base: u32,
    /// Write the symbol table as JSON too; `-` is stdout.
    #[arg(long, value_name = "FILE")]
    symbols: Option<PathBuf>,
    /// Only say which functions would get a probe, and why the others wouldn't. Writes nothing.
    #[arg(long)]
    list: bool,
    /// Validate the result.
    #[arg(long)]
    validate: bool,
}

const EXAMPLES: &str = "\
Examples:
  kperf-wasm rewrite app.wasm -o probed.wasm
  kperf-wasm rewrite app.wasm --only 'app::*' --skip '/alloc|fmt/' --list
  kperf-wasm rewrite main.wasm side.wasm -o probed/      disjoint ids for one program
  kperf-wasm rewrite - -o - < app.wasm > probed.wasm

Exit codes:
  0 fine, 1 failure (a filter that leaves no function is one), 2 wrong usage";

impl Opts {
    pub fn run(self) -> anyhow::Result<ExitCode> {
        if let Some(SpanMin::Time(_)) = self.probes.record.span_min {
            bail!("how long calls are at least that are told is said to `run`; here --span-min may be `off`");
        }
        let targets = self.targets()?;
        let mut id_base = self.id_base;
        let mut tables = Vec::new();
        for (path, target) in self.modules.iter().zip(&targets) {
            let module = input::read_module(path)?;
            let name = input::module_name(path);
            let mut options = self.probes.options(name, self.imports, id_base, Probe::Import)?;
            options.validate = self.validate;
            let context = || format!("failed to rewrite `{}`", input::name(path));
            // A module that can't be read says so below.
            if matches!(kperf_rewriter::probed(&module), Ok(Some(_))) {
                bail!("`{}` has probes already; rewrite the original", input::name(path));
            }
            if self.validate {
                let mut validator = Validator::new_with_features(WasmFeatures::all());
                let valid = validator.validate_all(&module);
                valid.with_context(|| format!("`{}` is invalid", input::name(path)))?;
            }
            if self.list {
                output::print(&list(&kperf_rewriter::plan(&module, &options).with_context(context)?))?;
                continue;
            }
            let begun = Instant::now();
            let rewritten = kperf_rewriter::rewrite(&module, &options).with_context(context)?;
            if let Some(folder) = self.folder() {
                std::fs::create_dir_all(folder)
                    .with_context(|| format!("failed to make the folder `{}`", folder.display()))?;
            }
            output::write_binary(target, &rewritten.wasm)?;
            tell(summary(path, target, module.len(), &rewritten, begun));
            probes::tell_warnings(&rewritten.warnings);
            id_base = rewritten.symbols.id_end();
            tables.push(rewritten.symbols);
        }
        if let Some(path) = &self.symbols {
            let json = match tables.as_slice() {
                [table] => serde_json::to_string_pretty(table)?,
                tables => serde_json::to_string_pretty(tables)?,
            };
            if path == Path::new("-") {
                output::print(&(json + "\n"))?;
            } else {
                std::fs::write(path, json + "\n")
                    .with_context(|| format!("failed to write `{}`", path.display()))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Where each module's rewritten form goes. Nothing is written onto an input, or twice to the same file.
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
            .chain(self.symbols.iter().map(|path| (path, "--symbols")))
            .enumerate()
        {
            if self.modules.iter().any(|module| is_same(module, path)) {
                bail!(
                    "`{}` would be overwritten, which is an input; name another file with {flag}",
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

    /// The folder that modules go to, if the output is one.
    fn folder(&self) -> Option<&Path> {
        self.output.as_deref().filter(|output| self.modules.len() > 1 || output.is_dir())
    }
}

/// Whether two paths are the same file, which is there.
fn is_same(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

fn summary(module: &Path, target: &Path, size: usize, rewritten: &Rewritten, begun: Instant) -> String {
    let after = rewritten.wasm.len();
    let growth = if size == 0 { 0.0 } else { 100.0 * (after as f64 - size as f64) / size as f64 };
    let mut text = format!(
        "{} -> {}: {} of {} functions probed, {size} -> {after} bytes ({growth:+.1} %), {:.0?}",
        input::name(module),
        if target == Path::new("-") { "stdout".to_owned() } else { target.display().to_string() },
        rewritten.symbols.symbols.len(),
        rewritten.plan.functions.len(),
        begun.elapsed(),
    );
    let counted = rewritten.plan.counted();
    if counted > 0 {
        let _ = write!(text, "\n  {counted} counted only: their time is in that of their callers");
    }
    for (reason, count) in rewritten.plan.skipped() {
        let _ = write!(text, "\n  {count} without a probe: {reason}");
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
                writeln!(text, "{:>8}  func[{}] {name}: {reason}", "-", function.index.0)
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
