//! The way from a lane to the writer: clock, queue, notices, counts.

pub(crate) mod memory_use;
pub(crate) mod notice;
pub(crate) mod process;
pub(crate) mod queue;
pub(crate) mod runs;
pub(crate) mod sink_watch;
pub(crate) mod stats;
pub(crate) mod when_full;

use self::memory_use::MemoryUse;
use self::notice::{Notice, Notices};
use self::process::Process;
use self::queue::Queue;
use self::runs::Runs;
use self::sink_watch::SinkWatch;
use self::stats::Progress;
use self::when_full::WhenFull;
use crate::clock::source::Clock;
use crate::clock::ticker::Ticker;
use crate::clock::waits::WaitQuality;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What a lane needs of its recording.
pub(crate) struct Outlet {
    pub(crate) clock: Clock,
    /// The process that records.
    pub(crate) process: Process,
    /// `None` in a precise recording.
    pub(crate) ticker: Option<Ticker>,
    pub(crate) queue: Queue,
    /// The memory of lanes.
    pub(crate) memory: Arc<MemoryUse>,
    pub(crate) refused: Refused,
    pub(crate) when_full: WhenFull,
    pub(crate) sink: SinkWatch,
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

/// The stores and instances that are not recorded, for lack of memory.
#[derive(Default)]
pub(crate) struct Refused {
    lanes: AtomicU64,
    /// Their events that are not counted as lost yet.
    events: AtomicU64,
    /// Whether the last lane was refused.
    is_full: AtomicBool,
}

impl Refused {
    /// Counts events of a refused store.
    pub(crate) fn count(&self, events: u64) {
        self.events.fetch_add(events, Ordering::Relaxed);
    }

    pub(crate) fn events(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }

    pub(crate) fn take_events(&self) -> u64 {
        self.events.swap(0, Ordering::Relaxed)
    }
}

impl Outlet {
    /// Reports a sink that has held a write for long.
    pub(crate) fn check_sink(&self) {
        if let Some(time) = self.sink.overdue() {
            self.notices.report(&Notice::SinkBlocks { time });
        }
    }

    /// A guest has waited so long for room in the queue. `is_first`: nothing was reported since half of it was free.
    pub(crate) fn note_wait(&self, time: Duration, is_first: bool) {
        if is_first {
            self.notices.report(&Notice::GuestWaits { time });
        }
        self.check_sink();
    }

    /// Notes that a lane is not recorded, for lack of memory. Reports the first since there was room.
    pub(crate) fn note_refused(&self) {
        self.refused.lanes.fetch_add(1, Ordering::Relaxed);
        if !self.refused.is_full.swap(true, Ordering::Relaxed) {
            self.notices.report(&Notice::MemoryFull);
        }
    }

    /// Notes that a lane has its memory.
    pub(crate) fn note_granted(&self) {
        if self.refused.is_full.load(Ordering::Relaxed) && !self.memory.is_half_used() {
            self.refused.is_full.store(false, Ordering::Relaxed);
        }
    }

    /// How often a lane was refused.
    pub(crate) fn refused_lanes(&self) -> u64 {
        self.refused.lanes.load(Ordering::Relaxed)
    }

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
        let refused = match self.refused_lanes() {
            0 => None,
            count => Some(format!(
                "{count} times a store or an instance is not recorded: the recording's memory was used up"
            )),
        };
        unsampled.iter().map(note).chain(refused).collect()
    }
}
