//! `kperf-wasm rewrite`: the pass alone, for modules that run elsewhere.

use crate::input;
use crate::output::{self, tell};
use crate::probes::{self, ProbeArgs};
use anyhow::{Context, bail};
use kperf_rewriter::{Decision, Plan, Rewritten};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// Put enter/leave probes into modules
///
/// Every function calls `kperf.enter` and `kperf.leave`, which a host must supply (`kperf-wasm run` does). What was done
/// is told on stderr.
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
    /// Write the symbol table as JSON too.
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
        let mut id_base = self.id_base;
        let mut tables = Vec::new();
        for path in &self.modules {
            let module = input::read_module(path)?;
            let mut options = self.probes.options(input::module_name(path), self.imports, id_base)?;
            options.validate = self.validate;
            let context = || format!("failed to rewrite `{}`", path.display());
            if self.list {
                output::print(&list(&kperf_rewriter::plan(&module, &options).with_context(context)?))?;
                continue;
            }
            let begun = Instant::now();
            let rewritten = kperf_rewriter::rewrite(&module, &options).with_context(context)?;
            let target = self.target(path)?;
            output::write_binary(&target, &rewritten.wasm)?;
            tell(summary(path, &target, module.len(), &rewritten, begun));
            probes::tell_warnings(&rewritten.warnings);
            id_base = rewritten.symbols.id_end();
            tables.push(rewritten.symbols);
        }
        if let Some(path) = &self.symbols {
            let json = match tables.as_slice() {
                [table] => serde_json::to_string_pretty(table)?,
                tables => serde_json::to_string_pretty(tables)?,
            };
            std::fs::write(path, json + "\n")
                .with_context(|| format!("failed to write `{}`", path.display()))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Where a module's rewritten form goes. Never onto a module that was named as input.
    fn target(&self, module: &Path) -> anyhow::Result<PathBuf> {
        let beside = format!("{}.probed.wasm", input::module_name(module));
        let target = match &self.output {
            Some(folder) if self.modules.len() > 1 || folder.is_dir() => {
                std::fs::create_dir_all(folder)
                    .with_context(|| format!("failed to make the folder `{}`", folder.display()))?;
                folder.join(module.file_name().unwrap_or(beside.as_ref())).with_extension("wasm")
            }
            Some(file) => file.clone(),
            None if module == Path::new("-") => PathBuf::from("-"),
            None => module.with_file_name(beside),
        };
        let same = |input: &PathBuf| match (input.canonicalize(), target.canonicalize()) {
            (Ok(input), Ok(target)) => input == target,
            _ => false,
        };
        if self.modules.iter().any(same) {
            bail!(
                "`{}` would be overwritten, which is an input; name another file with -o",
                target.display()
            );
        }
        Ok(target)
    }
}

fn summary(module: &Path, target: &Path, size: usize, rewritten: &Rewritten, begun: Instant) -> String {
    let after = rewritten.wasm.len();
    let growth = if size == 0 { 0.0 } else { 100.0 * (after as f64 - size as f64) / size as f64 };
    let mut text = format!(
        "{} -> {}: {} of {} functions probed, {size} -> {after} bytes ({growth:+.1} %), {:.0?}",
        module.display(),
        target.display(),
        rewritten.symbols.symbols.len(),
        rewritten.plan.functions.len(),
        begun.elapsed(),
    );
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
            Decision::Probe(id) => writeln!(text, "{:>8}  func[{}] {name}", id.0, function.index.0),
            Decision::Skip(reason) => {
                writeln!(text, "{:>8}  func[{}] {name}: {reason}", "-", function.index.0)
            }
        };
    }
    let probed = plan.probed().count();
    let _ = writeln!(text, "{probed} probed, {} not", plan.functions.len() - probed);
    text
}
