//! What a trace says about itself besides its events: stalls on the way, and the summary at the end.

use crate::header::u64_or_decimal;
use serde::{Deserialize, Serialize};

/// What stood still.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StallKind {
    /// The thread that renews the time was not run: the times of this while are coarse.
    Ticker,
    /// A guest waited for the writer: this while is the recording's, not the guest's.
    Writer,
}

/// A while in which the times are not what they seem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// What stood still.
    pub kind: StallKind,
    /// Whose guest waited; `None` where it concerns all.
    pub recorder: Option<u32>,
    /// When it began, a reading of the trace's clock.
    pub start_ticks: u64,
    /// How long it took, in nanoseconds.
    pub nanos: u64,
}

/// All stalls of one kind, those included that were too many to be written one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StallTotal {
    /// How many there were.
    pub count: u64,
    /// How long they took together, in nanoseconds.
    pub nanos: u64,
    /// How long the longest took, in nanoseconds.
    pub longest_nanos: u64,
}

impl StallTotal {
    /// Counts one more.
    pub fn add(&mut self, nanos: u64) {
        self.count += 1;
        self.nanos = self.nanos.saturating_add(nanos);
        self.longest_nanos = self.longest_nanos.max(nanos);
    }
}

/// The last chunk of a trace. A trace without one was cut off.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Summary {
    /// How the guest ended: `completed`, `exit 3`, `trap: ...`, `interrupted by SIGINT`.
    pub outcome: String,
    /// The clock's reading at the end.
    #[serde(deserialize_with = "u64_or_decimal")]
    pub end_ticks: u64,
    /// How many events recorders handed over (enters, leaves, unwinds, marks), those dropped later included.
    pub events: u64,
    /// In how many blocks.
    pub blocks: u64,
    /// How many of the events are not in the trace.
    pub dropped_events: u64,
    /// How many recorders there were.
    pub recorders: u32,
    /// How many functions had probes.
    pub probes: u32,
    /// The ticker's stalls.
    pub ticker_stalls: StallTotal,
    /// The writer's.
    pub writer_stalls: StallTotal,
}
