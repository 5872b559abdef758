//! Why a function or a module of a component gets no probes.

use std::fmt;

/// Why a function gets no probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SkipReason {
    /// The filter leaves it out.
    Filtered,
    /// It has fewer instructions than [`Options::min_instructions`](crate::Options::min_instructions).
    Small,
    /// It isn't exported, and only exported functions were wanted.
    NotExported,
    /// It is the host's, and [`Options::imports`](crate::Options::imports) is off.
    Host,
    /// It belongs to another core module of the component, where it has its own probe.
    Linked,
    /// It is an engine builtin (`wasm:*`): engines compile calls of it to something else.
    EngineBuiltin,
    /// One more local would exceed the engines' limit of 50,000.
    TooManyLocals,
    /// It is shared between threads, so it may only call shared functions, and probes are not shared.
    Shared,
    /// With its probe it would exceed the engines' limit of 7,654,321 bytes.
    TooLarge,
}

impl SkipReason {
    /// Whether the function was wanted, but can't bear a probe.
    pub fn is_limit(self) -> bool {
        matches!(self, SkipReason::Shared | SkipReason::TooManyLocals | SkipReason::TooLarge)
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SkipReason::Filtered => "filtered out",
            SkipReason::Small => "too few instructions",
            SkipReason::NotExported => "not exported",
            SkipReason::Host => "imported",
            SkipReason::Linked => "defined in another core module",
            SkipReason::EngineBuiltin => "an engine builtin",
            SkipReason::TooManyLocals => "no room for a local: engines allow 50,000",
            SkipReason::Shared => "shared functions may only call shared functions",
            SkipReason::TooLarge => "no room for a probe: engines allow bodies of 7,654,321 bytes",
        })
    }
}

/// Why a core module of a component gets no probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// It is exported, or given to another component, where its type is written down: with probes it would have another.
    Passed,
    /// A component that it is in, or that instantiates it, is passed on in this way.
    InPassed,
    /// It has no functions, or they only call others through a table, for imports that are not there when it is instantiated.
    Trampolines,
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Left::Passed => "it is exported or passed on as a module, and its imports may not change",
            Left::InPassed => {
                "a component that contains it is exported or passed on, and its imports may not change"
            }
            Left::Trampolines => "it has no functions but trampolines",
        })
    }
}
