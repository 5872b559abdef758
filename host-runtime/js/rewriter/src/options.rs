//! What JavaScript asks for, as JSON.

use kperf_rewriter::{AllocationOptions, Clock, Error, Filter, Leaf, Pattern, Probe};
use serde::Deserialize;

/// How a module is rewritten. The fields are the command line's flags of the same names.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Patterns of the functions that get probes; all do if it is empty.
    pub only: Vec<String>,
    /// Patterns of the functions that get none.
    pub skip: Vec<String>,
    /// How patterns are meant.
    pub r#match: Match,
    /// Functions with fewer instructions get no probe.
    pub min_instructions: u32,
    /// Only functions that the module exports.
    pub exports: bool,
    /// Calls of the host's functions too.
    pub imports: bool,
    /// Where the probes come from.
    pub probe: ProbeChoice,
    /// Whether functions that nothing happens in are counted only. Says something of inlined probes alone.
    pub leaf: LeafChoice,
    /// What the times of events are.
    pub clock: ClockChoice,
    /// What is allocated is recorded too: one sample in so many bytes, or all for 0.
    pub allocations: Option<u64>,
    /// Functions of an allocator of another name, each as `malloc=my_alloc`.
    pub allocator: Vec<String>,
    /// The first function id.
    pub id_base: u32,
    /// What to call a module that doesn't say its name.
    pub module_name: String,
    /// These options as one would type them, for the symbol table.
    pub description: String,
}

/// How patterns are meant.
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

/// Where the probes come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeChoice {
    /// Inside the module if it stands alone and has room for a recorder, imported if not.
    #[default]
    Auto,
    /// Imported.
    Import,
    /// Inside the module.
    Inline,
    /// A profile, with slow calls told one by one.
    Profile,
    /// A profile without them.
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
    /// Looks at what can be told without a module, but for patterns.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.allocations().map_or(Ok(()), |allocations| allocations.check())
    }

    fn clock(&self) -> Clock {
        match self.clock {
            ClockChoice::Host => Clock::Host,
            ClockChoice::Instructions => Clock::Instructions,
        }
    }

    /// The program may have several modules, and an allocator is in one of them.
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

    /// The same for the rewriter, with this form of probe.
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
