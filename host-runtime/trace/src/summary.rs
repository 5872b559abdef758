//! Stalls, and the summary at a trace's end.

use crate::header::{ProbeCost, u64_or_decimal};
use serde::{Deserialize, Serialize};

/// The thread that stalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StallKind {
    /// The thread that writes the time did not run: times in this period are coarse.
    Ticker,
    /// A guest waited for the writer: the recording took this time, not the guest.
    Writer,
}

/// A period in which the recorded times are not exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// The thread that stalled.
    pub kind: StallKind,
    /// The recorder whose guest waited; `None` if the stall concerns all recorders.
    pub recorder: Option<u32>,
    /// When it began, a reading of the trace's clock.
    pub start_ticks: u64,
    /// How long it took, in nanoseconds.
    pub nanos: u64,
}

/// The sum of all stalls of one kind. A trace lists only some of them one by one; this counts all.
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

/// How the ticks of a ticker followed each other. It says how far the times of a trace with this clock can be trusted.
///
/// A tick is a sample: all time since the tick before counts for the function that the guest is in, as its next event shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TickTotal {
    /// How many ticks there were.
    pub count: u64,
    /// Sum of the times between two ticks, in nanoseconds: how long the ticker was needed.
    pub nanos: u64,
    /// Sum of the squares of these times, in nanoseconds^2, without the parts in which events had a better clock.
    pub squares: f64,
}

impl TickTotal {
    /// Counts a tick that came `nanos` nanoseconds after the one before. In `coarse` of these nanoseconds events had no better
    /// clock.
    pub fn add(&mut self, nanos: u64, coarse: u64) {
        self.count += 1;
        self.nanos = self.nanos.saturating_add(nanos);
        self.squares += (coarse as f64).powi(2);
    }

    /// The effective number of samples in `nanos` nanoseconds of the trace: `nanos` divided by the
    /// mean time between two ticks, each tick weighted by its time. (For the whole trace this is Kish's
    /// `(sum of weights)^2 / sum of squares`, *Survey Sampling*, 1965.)
    pub fn effective_samples(&self, nanos: f64) -> f64 {
        nanos / self.resolution_nanos()
    }

    /// The mean gap between two ticks at a random moment, in nanoseconds. Infinite without ticks.
    pub fn resolution_nanos(&self) -> f64 {
        if self.count == 0 { f64::INFINITY } else { self.squares / self.nanos.max(1) as f64 }
    }
}

/// How often and for how long guests' threads were ready to run while other threads had the processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Preempted {
    /// How often a processor was taken from one of them.
    #[serde(deserialize_with = "u64_or_decimal")]
    pub count: u64,
    /// For how many nanoseconds they waited for one.
    #[serde(deserialize_with = "u64_or_decimal")]
    pub nanos: u64,
    /// How many threads that were.
    pub threads: u32,
}

/// What a recording knows of the times in which the guests' threads had no processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Waits {
    /// All of them are in the blocks.
    Exact,
    /// Of some only the sum is known: their places in the blocks are guesses.
    Estimated,
    /// Some may be missing.
    #[default]
    Unknown,
}

impl Waits {
    fn are_unknown(&self) -> bool {
        *self == Waits::Unknown
    }
}

/// The last chunk of a trace. A trace without one was cut off.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Summary {
    /// How the guest ended: `completed`, `exit 3`, `trap: ...`, `interrupted by SIGINT`.
    pub outcome: String,
    /// The clock's reading at the end.
    #[serde(deserialize_with = "u64_or_decimal")]
    pub end_ticks: u64,
    /// How many events (enters, leaves, unwinds, marks) recorders handed over. Events that were dropped later count too.
    pub events: u64,
    /// How many blocks these events came in.
    pub blocks: u64,
    /// How many of the events are not in the trace.
    pub dropped_events: u64,
    /// How many recorders there were.
    pub recorders: u32,
    /// How many functions had probes.
    pub probes: u32,
    /// Stalls of the ticker: its thread did not run.
    pub ticker_stalls: StallTotal,
    /// Stalls of the writer: guests waited for it.
    pub writer_stalls: StallTotal,
    /// The ticks, if the clock is a ticker.
    pub ticks: TickTotal,
    /// The cost of probes, if the host measured it at the recording's end, when it knows the kind of the probes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probe_cost: Option<ProbeCost>,
    /// What counting a call costs a profile's guest at most, in nanoseconds, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count_nanos: Option<f64>,
    /// Processor time of the host's process during the recording, in nanoseconds: the guest, the ticker, the writer, and all other
    /// threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_nanos: Option<u64>,
    /// Time that other threads took from the guests' threads since these opened their first lanes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preempted: Option<Preempted>,
    /// Whether that is in the blocks, as waits.
    #[serde(skip_serializing_if = "Waits::are_unknown")]
    pub waits: Waits,
    /// Other reasons to doubt the figures, a sentence each without its full stop, for people.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}
