//! Numbers of events by kind.

use kperf_abi::word::{Reason, Wait};

/// How often each kind of event happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Enters: the number of calls.
    pub calls: u64,
    /// How many of these calls are slow calls that samples saw. A profile has no enters for other calls.
    pub spans: u64,
    /// Leaves.
    pub leaves: u64,
    /// Leaves while no frame was open; each is a [`Problem`](crate::Problem), too.
    pub leaves_without_frame: u64,
    /// Unwinds; each closes one frame or more.
    pub unwinds: u64,
    /// Marks.
    pub marks: u64,
    /// Records of memory.
    pub records: u64,
    /// For how many ticks threads had no processor while calls were open, by kind (in the order of [`Wait::ALL`]).
    pub waited: [u64; Wait::ALL.len()],
    /// Gaps in the trace.
    pub gaps: u64,
    /// Events lost in gaps, as far as the trace says how many.
    pub lost_events: u64,
    /// Gaps with an unknown number of lost events.
    pub gaps_of_unknown_size: u64,
    /// Frames closed by an unwind, by reason (in the order of [`Reason::ALL`]).
    pub unwound: [u64; Reason::ALL.len()],
    /// Frames closed in a gap.
    pub closed_in_gaps: u64,
    /// Frames that were open at the trace's end.
    pub cut_off: u64,
    /// Frames whose enter was lost.
    pub without_enter: u64,
    /// Calls without a frame of their own, as too many were open; they are in a frame of [`OTHER`](crate::OTHER).
    pub over_limit: u64,
}

impl Counts {
    /// Enters, leaves, unwinds and marks.
    pub fn events(&self) -> u64 {
        self.calls + self.leaves + self.unwinds + self.marks
    }
}
