//! The account of a trace's calls: with a span, or left out.

use kperf_profile::Health;

/// The account of a trace's calls: each became a span or was left out.
///
/// `calls + run_spans == spans + elided.calls()`.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// How many calls the trace has. Calls whose enter was lost count too.
    pub calls: u64,
    /// How many spans were given, in requests.
    pub spans: u64,
    /// How many spans are of the whole run: 1 with [`Roots::PerRun`](crate::Roots::PerRun), otherwise 0.
    pub run_spans: u64,
    /// How many requests have these spans.
    pub requests: u64,
    /// How many bytes the bodies of all requests have.
    pub bytes: u64,
    /// Calls without a span, by the reason.
    pub elided: Elided,
    /// Whether the trace is a profile.
    pub is_profile: bool,
    /// The trace's health.
    pub health: Health,
}

/// Calls that got no span, by the reason. If a call has several reasons, the first in this list counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Elided {
    /// Their parent span isn't sampled.
    pub unsampled: Left,
    /// Their function is not one of the wanted ones.
    pub by_name: Left,
    /// They are too deep.
    pub by_depth: Left,
    /// There were enough spans already.
    pub by_count: Left,
    /// They were too short.
    pub by_duration: Left,
}

/// Calls without a span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// How many.
    pub calls: u64,
    /// Their time, without the spans and other calls without a span inside them, which are counted elsewhere.
    pub nanos: u64,
}

impl Elided {
    /// How many calls got no span.
    pub fn calls(&self) -> u64 {
        self.reasons().iter().map(|(_, left)| left.calls).sum()
    }

    pub(crate) fn each_mut(&mut self) -> [&mut Left; 5] {
        let Elided { unsampled, by_name, by_depth, by_count, by_duration } = self;
        [unsampled, by_name, by_depth, by_count, by_duration]
    }

    /// Each reason, for people, with its calls.
    pub fn reasons(&self) -> [(&'static str, Left); 5] {
        [
            ("unsampled", self.unsampled),
            ("by name", self.by_name),
            ("by depth", self.by_depth),
            ("by count", self.by_count),
            ("by duration", self.by_duration),
        ]
    }
}
