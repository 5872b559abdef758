//! How fast samples come.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// How fast samples come: of a recording, or of a thread that renews the time.
#[derive(Debug)]
pub(crate) struct Pace {
    /// Whether the program may run several times.
    is_repeated: bool,
    /// So many samples have the same period, at first.
    dense: u64,
    /// How many samples events have asked for.
    asked: AtomicU64,
    /// How long samples have taken, in nanoseconds of processor time.
    taken: AtomicU64,
}

impl Pace {
    /// The pace of a recording in which the program may run several times, for a mean with a small error.
    pub(crate) fn new(is_repeated: bool) -> Pace {
        Pace {
            is_repeated,
            dense: if is_repeated { DENSE_OF_RUNS } else { DENSE },
            asked: AtomicU64::new(0),
            taken: AtomicU64::new(0),
        }
    }

    /// Counts an interruption. Returns how many there were, and how often the event is due after it, in nanoseconds.
    pub(super) fn asked_once_more(&self, period: u64) -> (u64, u64) {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        (asked, self.period_after(asked, period))
    }

    /// A sample took so long, in nanoseconds. Returns whether samples have had all the time that they may take without rests.
    pub(super) fn takes(&self, took: u64) -> bool {
        self.taken.fetch_add(took, Ordering::Relaxed) + took > RESTLESS * self.dense
    }

    /// How often an event is due now, in nanoseconds, if it is so in `period` in the end.
    pub(super) fn period(&self, period: u64) -> u64 {
        self.period_after(self.asked.load(Ordering::Relaxed), period)
    }

    /// How often the event is due after `asked` samples, in nanoseconds. At first samples come faster than later, so that short programs
    /// have enough, and half as often after each so many. A server that makes an instance for each request is sampled as a
    /// program that runs long.
    fn period_after(&self, asked: u64, period: u64) -> u64 {
        /// Beyond the longest period.
        const MOST: u64 = 16;
        let first = match interruption() {
            interruption if self.is_repeated && interruption > 0 => interruption + BETWEEN,
            _ => FIRST,
        };
        period.min(first << (asked / self.dense).min(MOST))
    }
}

/// How often the first samples are due, in nanoseconds.
const FIRST: u64 = 50_000;
/// How long a program that may run several times runs between two of its first samples, in nanoseconds: several runs are for small
/// changes, and what samples cost isn't in their times.
const BETWEEN: u64 = 13_000;
/// The usual number of samples with the same period, and that of a program that runs several times.
const DENSE: u64 = 1000;
const DENSE_OF_RUNS: u64 = 100_000;
/// So much time may each of the first samples take without rests, in nanoseconds: short programs get all that are due.
const RESTLESS: u64 = 25_000;

static INTERRUPTION: OnceLock<u64> = OnceLock::new();

/// What an interruption costs beside its handler, in nanoseconds of processor time; 0 if it is unknown. A signal's handler may call this.
pub(super) fn interruption() -> u64 {
    INTERRUPTION.get().copied().unwrap_or(0)
}

/// Measures that, once in a process.
pub(super) fn measure(interruption: impl FnOnce() -> u64) {
    INTERRUPTION.get_or_init(interruption);
}
