//! Who runs a program, and how its calls are recorded.

use kperf_rewriter::{Leaf, Recording};
use serde::{Deserialize, Serialize};

/// Who runs the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Host {
    Wasmtime,
    Node,
    Jvm,
}

impl Host {
    pub(crate) const ALL: [Host; 3] = [Host::Wasmtime, Host::Node, Host::Jvm];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Host::Wasmtime => "wasmtime",
            Host::Node => "node",
            Host::Jvm => "JVM",
        }
    }
}

/// How a call is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Way {
    /// Not at all: the program as it is.
    None,
    /// The probes call functions of the host that do nothing.
    Empty,
    /// The probes are there and switched off.
    Off,
    /// A recorder.
    Recorder { inside: bool, clock: Clock, target: Target },
    /// The recorder inside, with a ticker, to a file, and small leaves counted only.
    Counted,
    /// Exact counts, and samples of a shadow stack; with slow calls listed one by one, or not.
    Profile { spans: bool },
    /// Exact counts, and samples of the thread's own stack.
    Native,
    /// whamm's probes, which call a library that does nothing.
    Whamm,
    /// wasmtime's own profiler, which samples.
    GuestProfiler,
    /// Kieker's probes, woven in by AspectJ.
    Kieker,
    /// The OpenTelemetry agent for Java, with a span for each call.
    OpenTelemetry,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Clock {
    /// A ticker that ticks once a second.
    Standing,
    Precise,
    Ticker,
}

/// Where the trace goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Target {
    /// It is packed and forgotten.
    Nowhere,
    File,
    /// To a file, and that to k-perf's text.
    Text,
    /// As spans to a Collector.
    Otlp,
}

impl Way {
    /// What the probes of a module record.
    pub(crate) fn recording(self) -> Recording {
        match self {
            Way::Counted => Recording::inline_with(Leaf::Count),
            Way::Off | Way::Recorder { inside: true, .. } => Recording::inline(),
            Way::Profile { spans } => Recording::Profile { spans },
            Way::Native => Recording::Count,
            _ => Recording::imported(),
        }
    }

    /// The clock of a recorder and where its trace goes, if it is one.
    pub(crate) fn recorder(self) -> Option<(bool, Clock, Target)> {
        match self {
            Way::Recorder { inside, clock, target } => Some((inside, clock, target)),
            Way::Counted => Some((true, Clock::Ticker, Target::File)),
            _ => None,
        }
    }
}
