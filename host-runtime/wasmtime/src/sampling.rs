//! How modules are sampled that make a profile.

use std::time::Duration;

/// How modules are sampled that were rewritten to make a profile (`rewrite --record profile`); see
/// [`Builder::sampling`](crate::Builder::sampling).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// How often a sample is taken. Of a shadow stack each costs the guest 100 to 200 ns for each cache line of it that it writes
    /// next, so that 100 us, the default, is some 0.2 %. On a native stack the guest is interrupted for 2 to 25 us, the
    /// latter on a virtual machine, so that a millisecond is the default.
    pub period: Duration,
    /// Calls that are seen to last that long are told one by one, to within a period: ten periods if nothing is said;
    /// `None` for none of them. Modules that were rewritten without the means for it tell none.
    pub span_min: Option<Duration>,
    /// How often what was counted and seen goes to the trace, as a window of its own. `None`: after a second, then after
    /// two more, four more and so on, so that a process that is killed leaves half of it at least.
    pub every: Option<Duration>,
}

impl Sampling {
    /// The period that is taken if nothing is said.
    pub const PERIOD: Duration = Duration::from_micros(100);
    /// The same for native stacks.
    pub const NATIVE_PERIOD: Duration = Duration::from_millis(1);
    /// At a shorter one a thread may do nothing but be interrupted: this is taken for it.
    pub const SHORTEST_NATIVE_PERIOD: Duration = Duration::from_micros(100);
    /// How many periods a call lasts at least that is told.
    pub const SPAN_PERIODS: u32 = 10;

    /// With this period, and the rest as it fits.
    pub fn new(period: Duration) -> Sampling {
        Sampling { period, span_min: period.checked_mul(Sampling::SPAN_PERIODS), every: None }
    }
}

impl Default for Sampling {
    fn default() -> Sampling {
        Sampling::new(Sampling::PERIOD)
    }
}
