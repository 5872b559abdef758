//! Options of sampling.

use crate::clock::processors::processors;
use std::time::Duration;

/// How to sample modules that were rewritten for profiles; see [`Builder::sampling`](crate::Builder::sampling).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// How often a sample is taken.
    ///
    /// On a shadow stack the default is 100 us, or a millisecond with one processor. A sample costs the guest 100 to
    /// 200 ns for each of the stack's cache lines that it writes next, some 0.2 % in all, and the sampler's processor up to
    /// 40 us. On a native stack the default is a millisecond: each sample interrupts the guest for 2 us, or 25 us on a
    /// virtual machine.
    pub period: Duration,
    /// Minimal duration of slow calls, which are in the trace one by one; their times are exact to a period. Ten periods by
    /// default; `None` for no slow calls. A module must have been rewritten for it.
    pub span_min: Option<Duration>,
    /// How often a window of counts and samples is written. `None`: after one second, then after two more, four
    /// more and so on. So a killed process leaves at least half of its profile.
    pub every: Option<Duration>,
}

impl Sampling {
    /// The default period on shadow stacks.
    pub const PERIOD: Duration = Duration::from_micros(100);
    /// The same where there is only one processor.
    pub const ALONE_PERIOD: Duration = Duration::from_millis(1);
    /// The default period on native stacks.
    pub const NATIVE_PERIOD: Duration = Duration::from_millis(1);
    /// The shortest period on native stacks, which replaces any shorter one: otherwise interrupts could take all of a thread's time.
    pub const SHORTEST_NATIVE_PERIOD: Duration = Duration::from_micros(100);
    /// How many periods a call must last, by default, to be a slow call.
    pub const SPAN_PERIODS: u32 = 10;

    /// This period, and defaults that fit it.
    pub fn new(period: Duration) -> Sampling {
        Sampling { period, span_min: period.checked_mul(Sampling::SPAN_PERIODS), every: None }
    }
}

impl Default for Sampling {
    fn default() -> Sampling {
        Sampling::new(if processors() == 1 { Sampling::ALONE_PERIOD } else { Sampling::PERIOD })
    }
}
