//! Which functions get probes: the flags that `rewrite` and `run` share.

use crate::filters::FilterArgs;
use crate::output::tell;
use crate::sampling::RecordArgs;
use anyhow::{Context, bail};
use kperf_rewriter::{Leaf, NameMap, Options, Probe, Warning};
use std::path::PathBuf;

/// Which functions get probes.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Which functions")]
pub struct ProbeArgs {
    #[command(flatten)]
    filter: FilterArgs,
    /// Only functions of at least N instructions.
    #[arg(long, value_name = "N", default_value_t = 0)]
    min_instructions: u32,
    /// Only functions that the module exports.
    #[arg(long)]
    exports: bool,
    /// Names for a stripped module: lines `index:name`, as `emcc --emit-symbol-map` writes them.
    #[arg(long, value_name = "MAP")]
    names: Option<PathBuf>,
    /// What a probe is: `import` calls a recorder beside the module, which any host can supply; `inline` puts the recorder
    /// into the module, for engines that give a module several memories: a third of the cost with a ticker, but each
    /// instance has a call tree of its own; `auto` is inline for `run` and `serve` with a ticker, import otherwise.
    #[arg(long, value_enum, value_name = "PROBE", default_value = "auto")]
    pub probe: ProbeArg,
    /// Functions that call nothing, don't loop, can't trap and are cheaper than their probe: `time` them as all others, or
    /// `count` their calls, by one event instead of two. Their time is in that of their callers then. For inlined probes.
    #[arg(long, value_enum, value_name = "HOW", default_value = "time")]
    pub leaf: LeafArg,
    #[command(flatten)]
    pub record: RecordArgs,
}

/// `--probe`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ProbeArg {
    Import,
    Inline,
    #[default]
    Auto,
}

/// `--leaf`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LeafArg {
    #[default]
    Time,
    Count,
}

impl ProbeArgs {
    /// The options for a module of this name, whose calls of the host get probes too if `imports`. `auto` is what that
    /// means here.
    pub fn options(
        &self,
        module_name: String,
        imports: bool,
        id_base: u32,
        auto: Probe,
    ) -> anyhow::Result<Options> {
        let probe = match (self.record.probe(auto)?, self.probe) {
            (Some(_), ProbeArg::Import) => {
                bail!("a profile has its recorder inside the module; leave --probe import out")
            }
            (Some(probe), _) => probe,
            (None, ProbeArg::Import) => Probe::Import,
            (None, ProbeArg::Inline) => Probe::Inline,
            (None, ProbeArg::Auto) => auto,
        };
        let leaf = match (self.leaf, probe) {
            (LeafArg::Time, _) => Leaf::Time,
            (LeafArg::Count, Probe::Inline) => Leaf::Count,
            (LeafArg::Count, Probe::Import) => bail!("--leaf count is for --probe inline"),
            (LeafArg::Count, Probe::Profile { .. } | Probe::Count) => {
                bail!("a profile counts all calls, and times none; leave --leaf count out")
            }
        };
        let names = match &self.names {
            Some(path) => {
                let text = std::fs::read_to_string(path)
                    .with_context(|| format!("failed to read the symbol map `{}`", path.display()))?;
                Some(NameMap::parse(&text).with_context(|| format!("in `{}`", path.display()))?)
            }
            None => None,
        };
        Ok(Options {
            probe,
            leaf,
            filter: self.filter.filter()?,
            min_instructions: self.min_instructions,
            exports_only: self.exports,
            imports,
            id_base,
            names,
            module_name,
            description: self.describe(probe, imports, id_base),
            validate: false,
        })
    }

    /// The flags as one would type them.
    fn describe(&self, probe: Probe, imports: bool, id_base: u32) -> String {
        let mut words = Vec::new();
        if probe == Probe::Inline {
            words.extend(["--probe".to_owned(), "inline".to_owned()]);
        }
        if self.leaf == LeafArg::Count {
            words.extend(["--leaf".to_owned(), "count".to_owned()]);
        }
        self.record.describe(probe, &mut words);
        self.filter.describe(&mut words);
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

/// Tells what the rewriter warned of; dropped sections, of which there often are many, in one line.
pub fn tell_warnings(warnings: &[Warning]) {
    let mut dropped = Vec::new();
    for warning in warnings {
        match warning {
            Warning::DroppedSection { name } => dropped.push(format!("`{name}`")),
            warning => tell(format_args!("warning: {warning}")),
        }
    }
    if !dropped.is_empty() {
        tell(format_args!(
            "warning: dropped the custom section{} {}: what they say doesn't hold for the rewritten module",
            if dropped.len() > 1 { "s" } else { "" },
            dropped.join(", "),
        ));
    }
}
