//! Options from JavaScript, as JSON.

use kperf_rewriter::{AllocationOptions, Clock, Error, Filter, Leaf, Pattern, Probe};
use serde::Deserialize;

/// How to rewrite a module: fields by the names of the command's flags.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Patterns of functions that get probes; empty for all.
    pub only: Vec<String>,
    /// Patterns of functions that get none.
    pub skip: Vec<String>,
    /// The kind of patterns.
    pub r#match: Match,
    /// Functions with fewer instructions get no probe.
    pub min_instructions: u32,
    /// Only exported functions.
    pub exports: bool,
    /// Also calls of imported functions.
    pub imports: bool,
    /// The form of probes.
    pub probe: ProbeChoice,
    /// Whether leaf functions are only counted; for inlined probes.
    pub leaf: LeafChoice,
    /// The clock of events.
    pub clock: ClockChoice,
    /// Also record allocations: one sample per this many bytes, or all for 0.
    pub allocations: Option<u64>,
    /// Allocator functions with other names, each as `malloc=my_alloc`.
    pub allocator: Vec<String>,
    /// The first function id.
    pub id_base: u32,
    /// The name of a module without one.
    pub module_name: String,
    /// These options as text, for the symbol table.
    pub description: String,
}

/// The kind of patterns.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Match {
    /// A regular expression between slashes, else a glob.
    #[default]
    Auto,
    /// A glob that matches the whole name.
    Glob,
    /// A regular expression that matches anywhere in the name.
    Regex,
    /// A part of the name.
    Text,
}

/// The form of probes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeChoice {
    /// Inlined if the module stands alone and has room for a recorder, otherwise imported.
    #[default]
    Auto,
    /// Imported.
    Import,
    /// Inlined.
    Inline,
    /// A profile with slow calls.
    Profile,
    /// A profile without slow calls.
    ProfileWithoutSpans,
}

/// `--leaf`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LeafChoice {
    /// An enter and a leave.
    #[default]
    Time,
    /// One event.
    Count,
}

/// `--clock`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClockChoice {
    /// The host's times.
    #[default]
    Host,
    /// The instructions that the module has executed.
    Instructions,
}

impl Match {
    fn pattern(self, text: &str) -> Result<Pattern, Error> {
        match self {
            Match::Auto => Pattern::parse(text),
            Match::Glob => Pattern::glob(text),
            Match::Regex => Pattern::regex(text),
            Match::Text => Pattern::text(text),
        }
    }
}

impl Options {
    /// Checks the options that need no module, except patterns.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.allocations().map_or(Ok(()), |allocations| allocations.check())
    }

    fn clock(&self) -> Clock {
        match self.clock {
            ClockChoice::Host => Clock::Host,
            ClockChoice::Instructions => Clock::Instructions,
        }
    }

    /// The program may have several modules, of which one has the allocator.
    fn allocations(&self) -> Option<AllocationOptions> {
        let told = self.allocator.iter().map(|text| {
            let (role, name) = text.split_once('=').unwrap_or((text, ""));
            (role.to_owned(), name.to_owned())
        });
        let told: Vec<_> = told.collect();
        self.allocations.map(|sample| AllocationOptions { told, sample, several: true })
    }

    /// The patterns, compiled.
    pub(crate) fn filter(&self) -> Result<Filter, Error> {
        let parse = |texts: &[String]| -> Result<Vec<Pattern>, Error> {
            texts.iter().map(|text| self.r#match.pattern(text)).collect()
        };
        Ok(Filter { only: parse(&self.only)?, skip: parse(&self.skip)? })
    }

    /// These options for the rewriter, with this form of probe.
    pub(crate) fn with(&self, probe: Probe, filter: Filter) -> kperf_rewriter::Options {
        let leaf = match self.leaf {
            LeafChoice::Count if probe == Probe::Inline => Leaf::Count,
            _ => Leaf::Time,
        };
        kperf_rewriter::Options {
            probe,
            clock: self.clock(),
            allocations: self.allocations(),
            leaf,
            filter,
            min_instructions: self.min_instructions,
            exports_only: self.exports,
            imports: self.imports,
            id_base: self.id_base,
            module_name: self.module_name.clone(),
            description: self.description.clone(),
            ..kperf_rewriter::Options::default()
        }
    }
}
