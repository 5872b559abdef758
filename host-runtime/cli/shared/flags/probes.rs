//! Flags that choose the functions with probes, and the probes.

use crate::shared::allocations::allocators;
use crate::shared::flags::filters::FilterArgs;
use crate::shared::flags::sampling::{RecordArgs, StackArg};
use crate::shared::output;
use crate::shared::plan_file;
use crate::shared::symbols;
use anyhow::bail;
use clap::ValueEnum;
use kperf_abi::SymbolTable;
use kperf_rewriter::{
    Allocations, AllocatorOptions, Clock, Filter, Host, Imported, Inline, Leaf, Options, Recording, Warning,
};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Which functions get probes.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Which functions")]
pub struct ProbeArgs {
    #[command(flatten)]
    filter: FilterArgs,
    /// Leave out the functions of a plan, which `kperf-wasm plan` makes from a recording, so that a trace costs little. `run`
    /// makes a trace then.
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// Only functions of at least N instructions.
    #[arg(long, value_name = "N", default_value_t = 0)]
    min_instructions: u32,
    /// Only functions that the module exports.
    #[arg(long)]
    exports: bool,
    /// Names and source lines for a stripped module: an unstripped module of the same build, a symbol map (lines
    /// `index:name`, as `emcc --emit-symbol-map` writes them), or a source map. Without it, the file named in the module
    /// and the folders of `KPERF_SYMBOLS` are searched.
    #[arg(long, visible_alias = "names", value_name = "FILE")]
    symbols: Option<PathBuf>,
    /// Leave debug information (DWARF, source maps) out of the rewritten module. It follows the code otherwise, so that
    /// debuggers and backtraces show the same lines as before.
    #[arg(long)]
    drop_debug: bool,
    /// The form of the probes. `import`: calls to a recorder module, which any host can supply. `inline`: the recorder's code inside
    /// the module; with a ticker this costs a third, but the engine must allow several memories, and each instance has its
    /// own call tree. `self`, for `rewrite`: the module keeps its call tree in its own memory and writes it, in any runtime. `auto`: inline
    /// for `run` with a ticker, import otherwise.
    #[arg(long, value_enum, value_name = "PROBE", default_value = "auto")]
    pub probe: ProbeArg,
    /// What to do with small functions that call nothing, don't loop and can't trap: `time` them like all others, or only
    /// `count` their calls, which costs less. The time of counted functions is then part of their callers' time. Needs
    /// inline probes.
    #[arg(long, value_enum, value_name = "HOW", default_value = "time")]
    pub leaf: LeafArg,
    /// Record allocations too: in each call of an allocator's function and at each `memory.grow`. The functions are found by
    /// their names or exports (malloc and its family, C++, Rust, wasm-bindgen); `report --by allocations`
    /// says which. With BYTES (`512KiB`) only samples are recorded, one in so many bytes on average, and figures are estimates:
    /// for programs that allocate a lot. Samples need inline probes.
    #[arg(long, value_name = "BYTES", num_args = 0..=1, default_missing_value = "all")]
    pub allocations: Option<SampleArg>,
    /// Functions of an allocator of another name: `malloc=my_alloc,free=my_free`. There are malloc, calloc, realloc, reallocarray,
    /// free, aligned_alloc, posix_memalign, alloc (size, ..) and rust_realloc (block, old size, alignment, size).
    #[arg(long, value_name = "KIND=FUNC", requires = "allocations")]
    allocator: Vec<String>,
    #[command(flatten)]
    pub record: RecordArgs,
}

/// `--probe`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ProbeArg {
    Import,
    Inline,
    #[value(name = "self")]
    Itself,
    #[default]
    Auto,
}

/// `--allocations`: the mean number of allocated bytes per sample; 0 records all allocations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleArg(u64);

impl FromStr for SampleArg {
    type Err = String;

    fn from_str(text: &str) -> Result<SampleArg, String> {
        if text == "all" {
            return Ok(SampleArg(0));
        }
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, unit) = text.split_at(digits);
        let unit: Option<u64> = match unit {
            "" | "B" => Some(1),
            "kB" => Some(1_000),
            "KiB" => Some(1 << 10),
            "MB" => Some(1_000_000),
            "MiB" => Some(1 << 20),
            _ => None,
        };
        let bytes = number.parse::<u64>().ok().zip(unit).and_then(|(number, unit)| number.checked_mul(unit));
        bytes.filter(|bytes| (1..=1 << 40).contains(bytes)).map(SampleArg).ok_or_else(|| {
            "neither `all` nor a number of bytes such as `512KiB`; give the module before --allocations, or after `--`"
                .to_owned()
        })
    }
}

/// `--leaf`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LeafArg {
    #[default]
    Time,
    Count,
}

impl ProbeArgs {
    /// The rewriter's options for a module of this name. `imports`: whether calls of imported functions get probes.
    /// `auto`: the recording that `--probe auto` stands for.
    pub fn options(
        &self,
        module_name: String,
        imports: bool,
        id_base: u32,
        auto: Recording,
    ) -> anyhow::Result<Options> {
        let recording = self.recording(auto)?;
        let names = match &self.symbols {
            Some(path) => Some(symbols::read_named(path)?),
            None => None,
        };
        Ok(Options {
            recording,
            filter: self.filter()?,
            min_instructions: self.min_instructions,
            exports_only: self.exports,
            imports,
            host: Host::default(),
            allocators: self.allocators()?,
            id_base,
            names,
            drops_debug: self.drop_debug,
            source_map_url: None,
            trace_path: None,
            module_name,
            description: self.describe(&recording, imports, id_base),
            validate: false,
        })
    }

    fn filter(&self) -> anyhow::Result<Filter> {
        let planned = self.plan.as_deref().map(plan_file::read).transpose()?;
        Ok(Filter { planned: planned.unwrap_or_default(), ..self.filter.filter()? })
    }

    /// What is recorded, with the host's times.
    fn recording(&self, auto: Recording) -> anyhow::Result<Recording> {
        if self.probe == ProbeArg::Itself {
            return self.itself();
        }
        let profile = self.record.profile(auto)?;
        if profile.is_some() && self.probe == ProbeArg::Import {
            bail!("--record profile needs the recorder inside the module; remove --probe import");
        }
        self.allocators()?;
        if profile.is_some() && self.allocations.is_some() {
            bail!("allocations are recorded in a trace of the calls; remove --record profile");
        }
        if let Some(profile) = profile {
            return match self.leaf {
                LeafArg::Time => Ok(profile),
                LeafArg::Count => {
                    bail!("--leaf count is for traces, since a profile counts every call anyway; remove it")
                }
            };
        }
        let is_imported = match self.probe {
            ProbeArg::Import => true,
            ProbeArg::Inline | ProbeArg::Itself => false,
            ProbeArg::Auto => auto.is_imported(),
        };
        let clock = Clock::Host;
        if is_imported {
            if self.leaf == LeafArg::Count {
                bail!("--leaf count is for --probe inline");
            }
            if self.allocations.is_some_and(|SampleArg(bytes)| bytes > 0) {
                bail!("samples of allocations are for --probe inline");
            }
            return Ok(Recording::Imported(Imported { clock, allocations: self.allocations.is_some() }));
        }
        let leaf = match self.leaf {
            LeafArg::Time => Leaf::Time,
            LeafArg::Count => Leaf::Count,
        };
        let allocations = match self.allocations {
            None => Allocations::Off,
            Some(SampleArg(bytes)) => Allocations::every(bytes),
        };
        Ok(Recording::Inline(Inline { clock, leaf, allocations }))
    }

    /// The recording of a module that records itself.
    fn itself(&self) -> anyhow::Result<Recording> {
        if let Some(record) = self.record.record {
            let what =
                record.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
            bail!("--probe self keeps a call tree, neither a trace nor a profile; remove --record {what}");
        }
        if self.record.stack != StackArg::Auto || self.record.span_min.is_some() {
            bail!("--probe self takes no samples; remove --stack and --span-min");
        }
        if self.leaf == LeafArg::Count {
            bail!("--leaf count is for --probe inline; a call tree counts every path anyway");
        }
        if self.allocations.is_some() {
            bail!("--probe self records no allocations; remove --allocations");
        }
        Ok(Recording::CallTree)
    }

    /// Whether there is a flag that only traces have.
    pub fn is_for_traces(&self) -> bool {
        let has_allocations = self.allocations.is_some() || !self.allocator.is_empty();
        self.probe != ProbeArg::Auto || self.leaf != LeafArg::Time || has_allocations || self.plan.is_some()
    }

    /// The file given for names.
    pub fn symbols(&self) -> Option<&Path> {
        self.symbols.as_deref()
    }

    /// As [`options`](Self::options), for a module that counts its instructions.
    pub fn counting(
        &self,
        module_name: String,
        imports: bool,
        id_base: u32,
        auto: Recording,
    ) -> anyhow::Result<Options> {
        if self.record.is_profile() {
            bail!("--clock instructions is for traces, a profile is sampled; remove --record profile");
        }
        if self.probe == ProbeArg::Itself {
            bail!("--probe self has a clock of its own; remove --clock");
        }
        let mut options = self.options(module_name, imports, id_base, auto)?;
        if let Recording::Imported(Imported { clock, .. }) | Recording::Inline(Inline { clock, .. }) =
            &mut options.recording
        {
            *clock = Clock::Instructions;
        }
        options.description = format!("--clock instructions {}", options.description).trim_end().to_owned();
        Ok(options)
    }

    /// `--allocator`.
    fn allocators(&self) -> anyhow::Result<AllocatorOptions> {
        let names =
            self.allocator.iter().flat_map(|text| kinds(text)).map(|text| match text.split_once('=') {
                Some((role, name)) if !role.is_empty() && !name.is_empty() => {
                    Ok((role.to_owned(), name.to_owned()))
                }
                _ => bail!("--allocator `{text}` is not of the form `malloc=FUNCTION`"),
            });
        Ok(AllocatorOptions { names: names.collect::<anyhow::Result<_>>()?, several: false })
    }

    /// The flags as they would be typed.
    fn describe(&self, recording: &Recording, imports: bool, id_base: u32) -> String {
        let mut words = Vec::new();
        if *recording == Recording::CallTree {
            words.extend(["--probe".to_owned(), "self".to_owned()]);
        }
        if recording.is_inline() {
            words.extend(["--probe".to_owned(), "inline".to_owned()]);
        }
        if self.leaf == LeafArg::Count {
            words.extend(["--leaf".to_owned(), "count".to_owned()]);
        }
        if let Some(SampleArg(sample)) = self.allocations {
            words.push("--allocations".to_owned());
            words.extend((sample > 0).then(|| sample.to_string()));
        }
        if !self.allocator.is_empty() {
            words.extend(["--allocator".to_owned(), self.allocator.join(",")]);
        }
        self.record.describe(recording, &mut words);
        self.filter.describe(&mut words);
        if let Some(plan) = &self.plan {
            words.extend(["--plan".to_owned(), plan.display().to_string()]);
        }
        if self.min_instructions > 0 {
            words.extend(["--min-instructions".to_owned(), self.min_instructions.to_string()]);
        }
        if self.exports {
            words.push("--exports".to_owned());
        }
        if imports {
            words.push("--imports".to_owned());
        }
        if id_base > 0 {
            words.extend(["--id-base".to_owned(), id_base.to_string()]);
        }
        words.join(" ")
    }
}

/// The parts of a list such as `malloc=my_alloc,free=pool::give(void*, int)`. A comma that no kind follows is a name's.
fn kinds(list: &str) -> Vec<&str> {
    let is_kind =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let begins = |text: &str| text.split_once('=').is_some_and(|(kind, _)| is_kind(kind));
    let (mut parts, mut start) = (Vec::new(), 0);
    for (at, _) in list.match_indices(',') {
        if begins(&list[at + 1..]) {
            parts.push(&list[start..at]);
            start = at + 1;
        }
    }
    parts.push(&list[start..]);
    parts
}

/// Reports the functions of an allocator, if allocations are recorded.
pub fn report_allocators(symbols: &SymbolTable) {
    match &symbols.module.allocations {
        Some(allocations) if allocations.allocators.is_empty() => output::warn(format_args!(
            "no function of an allocator was found by its name, only memory.grow is recorded (--allocator names functions)"
        )),
        Some(allocations) => output::status(allocators(allocations)),
        None => {}
    }
}

/// Prints the rewriter's warnings. Dropped sections share one line, because there are often many.
pub fn report_warnings(warnings: &[Warning]) {
    let mut dropped = Vec::new();
    for warning in warnings {
        match warning {
            Warning::DroppedSection { name } => dropped.push(format!("`{name}`")),
            warning => output::warn(warning),
        }
    }
    if !dropped.is_empty() {
        output::warn(format_args!(
            "dropped the custom section{} {}, which would be wrong for the rewritten module",
            if dropped.len() > 1 { "s" } else { "" },
            dropped.join(", "),
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::kinds;

    #[test]
    fn commas_of_names_end_no_kind() {
        assert_eq!(kinds("malloc=a"), ["malloc=a"]);
        let parts = kinds("alloc=pool::take(unsigned long, int),free=pool::give<A,B>(void*),new=f");
        assert_eq!(parts, ["alloc=pool::take(unsigned long, int)", "free=pool::give<A,B>(void*)", "new=f"]);
        assert_eq!(kinds("malloc=a,b"), ["malloc=a,b"]);
        assert_eq!(kinds(",="), [",="]);
    }
}
