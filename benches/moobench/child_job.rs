//! What a child process is told, and what it answers.

use crate::way::Way;
use crate::workload::Job;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The trace that it writes, if any.
pub(crate) const TRACE: &str = "guest.kperf";

/// What a child is told.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ChildJob {
    pub(crate) job: Job,
    pub(crate) ways: Vec<Way>,
    /// Indices of `ways`, one for each run.
    pub(crate) order: Vec<usize>,
    /// A folder for what it writes.
    pub(crate) folder: PathBuf,
    /// Nanoseconds: a run makes batches until they have taken so long. Only node does this.
    #[serde(default)]
    pub(crate) long: f64,
}

/// What it answers of each run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Measured {
    /// Nanoseconds of each batch.
    pub(crate) batches: Vec<f64>,
    /// Nanoseconds that the guest's thread ran in all of them, where somebody counts.
    #[serde(default)]
    pub(crate) thread_nanos: Option<f64>,
    /// Nanoseconds until all was written or sent, if anything was.
    #[serde(default)]
    pub(crate) whole_nanos: f64,
    /// What was recorded, where somebody counts.
    #[serde(default)]
    pub(crate) events: Option<u64>,
    /// What was written.
    #[serde(default)]
    pub(crate) bytes: u64,
    /// Of a run of several batches under node.
    #[serde(default)]
    pub(crate) sustained: Option<Sustained>,
}

/// Nanoseconds of a run of several batches.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Sustained {
    /// How long the guest waited for room.
    pub(crate) waits: f64,
    /// What the process's other threads took, where node tells.
    pub(crate) others: Option<f64>,
    /// From the last batch's end until the trace was complete.
    pub(crate) late: f64,
}

impl Measured {
    /// Of all batches.
    pub(crate) fn nanos(&self) -> f64 {
        self.batches.iter().sum()
    }
}
