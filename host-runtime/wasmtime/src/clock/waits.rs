//! The times in which the guests' threads had no processor.
//!
//! Linux reports each switch of a thread with its time ([`switches`]). Where it doesn't, the sums of a thread's waits are known
//! ([`delay`](super::delay), [`sums`]), and the writer guesses their places. On other systems nothing is known.

#[cfg(target_os = "linux")]
mod sums;
#[cfg(target_os = "linux")]
mod switches;
#[cfg(target_os = "linux")]
mod thread;

use super::source::Clock;
use super::unplaced::UnplacedTicks;
use crate::outlet::queue::Pause;
use kperf_trace::Waits;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
#[cfg(target_os = "linux")]
use thread::ThreadWaits;

/// A system that doesn't report switches.
#[cfg(not(target_os = "linux"))]
enum ThreadWaits {}

#[cfg(not(target_os = "linux"))]
impl ThreadWaits {
    fn of_this_thread<R>(_clock: &Clock, act: impl FnOnce(Option<&Arc<ThreadWaits>>) -> R) -> R {
        act(None)
    }

    fn is_at(&self, _count: u64) -> bool {
        match *self {}
    }

    fn position(&self, _clock: &Clock) -> Position {
        match *self {}
    }

    fn since(&self, _from: Position, _clock: &Clock, _each: impl FnMut(Pause)) -> (Position, Unplaced) {
        match *self {}
    }
}

/// How much of a thread's waits was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Position {
    /// The number of waits.
    count: u64,
    /// The sum of those without a place, in ticks.
    unplaced: UnplacedTicks,
}

/// The waits of a thread without a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unplaced {
    /// Their sums since the last reading.
    pub(crate) ticks: UnplacedTicks,
    /// What is known of all the thread's waits.
    pub(crate) quality: Waits,
}

/// A lane's reading of the waits of the thread that its guest runs on.
pub(crate) struct WaitReader {
    thread: Arc<ThreadWaits>,
    position: Position,
}

/// A thread, and the number of waits that were read of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WaitKey {
    /// The address of its data; 0 if nothing is known of it.
    pub(crate) thread: usize,
    pub(crate) count: u64,
}

impl WaitKey {
    /// Whether it is of the calling thread, and there are no new waits. Takes a few nanoseconds.
    pub(crate) fn is_current(self, clock: &Clock) -> bool {
        let this =
            |this: &Arc<ThreadWaits>| Arc::as_ptr(this).addr() == self.thread && this.is_at(self.count);
        ThreadWaits::of_this_thread(clock, |known| known.is_some_and(this))
    }
}

impl WaitReader {
    /// Reads the calling thread's waits from now on. `None` if nothing is known of them.
    pub(crate) fn of_this_thread(clock: &Clock) -> Option<WaitReader> {
        let thread = ThreadWaits::of_this_thread(clock, |known| known.cloned())?;
        let position = thread.position(clock);
        Some(WaitReader { thread, position })
    }

    /// Whether it reads the calling thread's waits.
    pub(crate) fn is_of_this_thread(&self, clock: &Clock) -> bool {
        ThreadWaits::of_this_thread(clock, |known| known.is_some_and(|this| Arc::ptr_eq(this, &self.thread)))
    }

    pub(crate) fn key(&self) -> WaitKey {
        WaitKey { thread: Arc::as_ptr(&self.thread).addr(), count: self.position.count }
    }

    /// Gives each wait since the last reading to `each`, in order. Any thread may call it.
    pub(crate) fn read(&mut self, clock: &Clock, each: impl FnMut(Pause)) -> Unplaced {
        let (position, unplaced) = self.thread.since(self.position, clock, each);
        self.position = position;
        unplaced
    }
}

/// What is known of the waits of all lanes.
#[derive(Default)]
pub(crate) struct WaitQuality(AtomicU8);

impl WaitQuality {
    /// Adds what is known of a lane's.
    pub(crate) fn add(&self, waits: Waits) {
        let rank = match waits {
            Waits::Exact => 1,
            Waits::Estimated => 2,
            Waits::Unknown => 3,
        };
        if self.0.load(Ordering::Relaxed) < rank {
            self.0.fetch_max(rank, Ordering::Relaxed);
        }
    }

    /// The least that is known of any lane's.
    pub(crate) fn worst(&self) -> Waits {
        match self.0.load(Ordering::Relaxed) {
            1 => Waits::Exact,
            2 => Waits::Estimated,
            _ => Waits::Unknown,
        }
    }
}
