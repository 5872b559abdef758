//! The way from a lane to the writer: clock, queue, notices, counts.

pub(crate) mod notice;
pub(crate) mod process;
pub(crate) mod queue;
pub(crate) mod runs;
pub(crate) mod stats;
pub(crate) mod when_full;

use self::notice::{Notice, Notices};
use self::process::Process;
use self::queue::Queue;
use self::runs::Runs;
use self::stats::Progress;
use self::when_full::WhenFull;
use crate::clock::source::Clock;
use crate::clock::ticker::Ticker;
use crate::clock::waits::WaitQuality;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// What a lane needs of its recording.
pub(crate) struct Outlet {
    pub(crate) clock: Clock,
    /// The process that records.
    pub(crate) process: Process,
    /// `None` in a precise recording.
    pub(crate) ticker: Option<Ticker>,
    pub(crate) queue: Queue,
    pub(crate) when_full: WhenFull,
    pub(crate) notices: Notices,
    /// Why instances of a profile have no samples, with the number of instances.
    pub(crate) unsampled: Mutex<BTreeMap<String, u64>>,
    /// What is known of the times in which guests' threads had no processor.
    pub(crate) waits: WaitQuality,
    /// If the program runs several times.
    pub(crate) runs: Option<Runs>,
    /// What the writer has done.
    pub(crate) progress: Progress,
}

impl Outlet {
    /// The time for an event that finds 0. Counts toward waking a sleeping ticker.
    pub(crate) fn asked(&self) -> u64 {
        let now = self.clock.now();
        if let Some(ticker) = self.ticker.as_ref().filter(|_| !self.process.is_parent()) {
            ticker.count_question(now);
        }
        now
    }

    /// Notes that an instance's calls are only counted, with the reason. Reports each reason once.
    pub(crate) fn note_unsampled(&self, reason: &str) {
        let mut unsampled = self.unsampled.lock().unwrap_or_else(PoisonError::into_inner);
        let count = unsampled.entry(reason.to_owned()).or_default();
        *count += 1;
        let is_first = *count == 1;
        drop(unsampled);
        if is_first {
            self.notices.report(&Notice::CountsOnly { reason });
        }
    }

    /// Notes for the reader of the trace.
    pub(crate) fn notes(&self) -> Vec<String> {
        let unsampled = self.unsampled.lock().unwrap_or_else(PoisonError::into_inner);
        let note = |(reason, count)| format!("calls without times, in {count} instances: {reason}");
        unsampled.iter().map(note).collect()
    }
}
