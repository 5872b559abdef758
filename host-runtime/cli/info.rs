//! `kperf-wasm info`: describes a file.

mod component;
mod module;
mod trace;

use crate::shared::input;
use crate::shared::symbols::SymbolArgs;
use crate::shared::table::grouped;
use crate::shared::traces;
use anyhow::Context;
use kperf_profile::Profile;
use kperf_trace::{Kept, TraceReader};
use serde::Serialize;
use std::fmt::Display;
use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Describe a module, a component or a trace
///
/// For a module: its size, its functions, those that it imports and exports, and its probes. For a component: its core
/// modules, imports, exports and probes. For a trace: the clock, the host, the command, the events, the lanes, and what
/// was lost.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Opts {
    /// A module or component, binary or text, or a trace; `-` is stdin.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// `text` for people, `json` for programs.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    format: Format,
    #[command(flatten)]
    symbols: SymbolArgs,
}

const EXAMPLES: &str = "\
Examples:
  kperf-wasm info app.wasm
  kperf-wasm info app.kperf --format json

Exit codes:
  0 success (a damaged trace is described as far as it can be read), 1 failure (also if a module doesn't validate),
  2 wrong usage";

/// Output formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Text,
    Json,
}

impl Opts {
    /// Describes the file.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        input::refuse_folder(&self.file)?;
        let context = || format!("failed to read `{}`", input::name(&self.file));
        let text = if !traces::can_be_read_twice(&self.file) {
            let bytes = input::read(&self.file)?;
            if input::is_trace(&bytes) {
                let reader = TraceReader::new(bytes.as_slice()).with_context(context)?;
                let reader = reader.with_names(self.symbols.namer(&self.file, true)?);
                let profile = Profile::read(reader, |_| ()).with_context(context)?;
                self.trace(&profile, Kept::read(Cursor::new(&bytes)).ok().flatten())?
            } else {
                self.module(&input::assemble(&self.file, bytes)?)?
            }
        } else if is_trace(&self.file)? {
            let profile = traces::source(&self.file).symbols(&self.symbols).profile()?;
            let kept = File::open(&self.file).and_then(|file| Kept::read(BufReader::new(file)));
            self.trace(&profile, kept.ok().flatten())?
        } else {
            self.module(&input::read_module(&self.file)?)?
        };
        crate::shared::output::print(&text)?;
        Ok(ExitCode::SUCCESS)
    }

    fn trace(&self, profile: &Profile, kept: Option<Kept>) -> anyhow::Result<String> {
        traces::report_health(&profile.health);
        traces::show_hints(profile, false);
        self.formatted(&trace::describe(profile, kept), trace::text)
    }

    fn module(&self, bytes: &[u8]) -> anyhow::Result<String> {
        let context = || format!("failed to read `{}`", input::name(&self.file));
        if kperf_rewriter::is_component(bytes) {
            return self.formatted(&component::describe(bytes).with_context(context)?, component::text);
        }
        self.formatted(&module::describe(bytes).with_context(context)?, module::text)
    }

    fn formatted<T: Serialize>(
        &self,
        description: &T,
        text: impl Fn(&T) -> String,
    ) -> anyhow::Result<String> {
        Ok(match self.format {
            Format::Text => text(description),
            Format::Json => serde_json::to_string_pretty(description)? + "\n",
        })
    }
}

fn is_trace(path: &Path) -> anyhow::Result<bool> {
    let context = || format!("failed to read `{}`", path.display());
    let mut start = Vec::new();
    File::open(path).with_context(context)?.take(16).read_to_end(&mut start).with_context(context)?;
    Ok(input::is_trace(&start))
}

/// How many functions are counted only, if any are.
fn counted_text(functions: usize) -> String {
    match functions {
        0 => String::new(),
        counted => format!(" ({} counted only)", grouped(counted as u64)),
    }
}

/// Lines with a name and a value each; the values are aligned.
#[derive(Default)]
struct Lines(String);

impl Lines {
    fn add(&mut self, name: &str, value: impl Display) {
        self.0.push_str(format!("{name:<12} {value}").trim_end());
        self.0.push('\n');
    }
}
