//! Notices a sink that holds a write.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A write that takes so long is reported.
const LONG: Duration = Duration::from_secs(1);

/// The writer's current write.
pub(crate) struct SinkWatch {
    origin: Instant,
    /// When it began, in milliseconds since the origin, and one more; 0 while the writer waits for messages.
    since: AtomicU64,
    /// Whether it was reported, or the one before.
    is_reported: AtomicBool,
}

impl Default for SinkWatch {
    fn default() -> SinkWatch {
        SinkWatch { origin: Instant::now(), since: AtomicU64::new(0), is_reported: AtomicBool::new(false) }
    }
}

impl SinkWatch {
    fn now(&self) -> u64 {
        self.origin.elapsed().as_millis() as u64 + 1
    }

    /// The writer begins to write.
    pub(crate) fn begin(&self) {
        self.since.store(self.now(), Ordering::Relaxed);
    }

    /// The writer has written. Returns how long it took, if that is to be reported.
    pub(crate) fn end(&self) -> Option<Duration> {
        let time = self.overdue();
        if !self.is_long() {
            self.is_reported.store(false, Ordering::Relaxed);
        }
        self.since.store(0, Ordering::Relaxed);
        time
    }

    /// How long the write has taken so far, if that is to be reported.
    pub(crate) fn overdue(&self) -> Option<Duration> {
        let is_new = self.is_long() && !self.is_reported.swap(true, Ordering::Relaxed);
        is_new.then(|| self.time())
    }

    fn is_long(&self) -> bool {
        self.time() >= LONG
    }

    fn time(&self) -> Duration {
        match self.since.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            since => Duration::from_millis(self.now().saturating_sub(since)),
        }
    }
}
