//! Options from JavaScript, as JSON.

use crate::error::Error;
use kperf_rewriter::{
    Allocations, AllocatorOptions, Clock, Filter, Host, Imported, Inline, Leaf, Pattern, Recording,
};
use serde::Deserialize;

/// How to rewrite a module: fields by the names of the command's flags.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Patterns of functions that get probes; empty for all.
    pub only: Vec<String>,
    /// Patterns of functions that get none.
    pub skip: Vec<String>,
    /// Names and labels of functions that a plan leaves out.
    pub planned: Vec<String>,
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
    /// Globs of imported modules whose functions never call back into the guest.
    pub no_callbacks: Vec<String>,
    /// Whether the host's functions reach the guest as imports only.
    pub closed: bool,
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

/// Where the recorder is, and what it records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecorderPlace {
    /// Beside the module: all calls.
    Imported,
    /// Inside the module: all calls.
    Inline,
    /// Inside the module: a profile.
    Profile { spans: bool },
}

impl Match {
    fn pattern(self, text: &str) -> Result<Pattern, kperf_rewriter::Error> {
        match self {
            Match::Auto => Pattern::parse(text),
            Match::Glob => Pattern::glob(text),
            Match::Regex => Pattern::regex(text),
            Match::Text => Pattern::text(text),
        }
    }
}

impl Options {
    /// Fails on what is wrong whatever the module is, but for patterns.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.allocations.is_some() {
            self.allocators().check()?;
        }
        Ok(())
    }

    /// The recording of a probe that is chosen. Fails on options that it doesn't have.
    pub(crate) fn recording(&self, place: RecorderPlace) -> Result<Recording, Error> {
        let clock = match self.clock {
            ClockChoice::Host => Clock::Host,
            ClockChoice::Instructions => Clock::Instructions,
        };
        match place {
            RecorderPlace::Imported if self.allocations.is_some_and(|bytes| bytes > 0) => {
                Err(Error::Options("samples of allocations are for the probe `inline`"))
            }
            RecorderPlace::Imported => {
                Ok(Recording::Imported(Imported { clock, allocations: self.allocations.is_some() }))
            }
            RecorderPlace::Inline => {
                let leaf = match self.leaf {
                    LeafChoice::Time => Leaf::Time,
                    LeafChoice::Count => Leaf::Count,
                };
                let allocations = self.allocations.map_or(Allocations::Off, Allocations::every);
                Ok(Recording::Inline(Inline { clock, leaf, allocations }))
            }
            RecorderPlace::Profile { .. } if clock == Clock::Instructions => {
                Err(Error::Options("only a trace counts instructions, a profile has samples"))
            }
            RecorderPlace::Profile { .. } if self.allocations.is_some() => {
                Err(Error::Options("only a trace records allocations, a profile has samples"))
            }
            RecorderPlace::Profile { spans } => Ok(Recording::Profile { spans }),
        }
    }

    /// The program may have several modules, and an allocator is in one of them.
    fn allocators(&self) -> AllocatorOptions {
        let names = self.allocator.iter().map(|text| {
            let (role, name) = text.split_once('=').unwrap_or((text, ""));
            (role.to_owned(), name.to_owned())
        });
        AllocatorOptions { names: names.collect(), several: true }
    }

    /// The patterns, compiled.
    pub(crate) fn filter(&self) -> Result<Filter, Error> {
        let parse = |texts: &[String]| -> Result<Vec<Pattern>, kperf_rewriter::Error> {
            texts.iter().map(|text| self.r#match.pattern(text)).collect()
        };
        Ok(Filter {
            only: parse(&self.only)?,
            skip: parse(&self.skip)?,
            planned: self.planned.iter().cloned().collect(),
        })
    }

    /// What is known of the host.
    pub(crate) fn host(&self) -> Result<Host, Error> {
        let harmless = self.no_callbacks.iter().map(|text| Pattern::glob(text));
        let closed = self.closed || self.no_callbacks.iter().any(|text| text == "*");
        Ok(Host { harmless: harmless.collect::<Result<_, _>>()?, closed })
    }

    /// The rewriter's options, with this recording, filter and host.
    pub(crate) fn with(&self, recording: Recording, filter: Filter, host: Host) -> kperf_rewriter::Options {
        kperf_rewriter::Options {
            recording,
            allocators: self.allocators(),
            filter,
            min_instructions: self.min_instructions,
            exports_only: self.exports,
            imports: self.imports,
            host,
            id_base: self.id_base,
            module_name: self.module_name.clone(),
            description: self.description.clone(),
            ..kperf_rewriter::Options::default()
        }
    }
}
