//! Renews the time of a ticker on the guest's own thread.

use super::pace::Pace;
use super::ring::{Interruption, Job, Ring, Task};
use super::thread::Thread;
use super::timer::{self, Timer};
use crate::clock::cell::TickerCell;
use crate::clock::source::Clock;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How often the time is renewed in the end, in processor time.
const PERIOD: Duration = Duration::from_millis(1);

/// The thread's timer: until it is dropped, it renews the time.
pub(crate) struct Beat {
    ring: &'static Ring,
    timer: Option<Timer>,
    thread: libc::pid_t,
}

/// The sum of the distances of all beats, in nanoseconds of processor time, and of their squares.
#[derive(Debug, Default)]
pub(crate) struct BeatTotal {
    pub(crate) count: AtomicU64,
    pub(crate) nanos: AtomicU64,
    pub(crate) squares: AtomicU64,
}

/// What the handler needs.
struct Beating {
    cells: Vec<Arc<TickerCell>>,
    thread: Thread,
    total: Arc<BeatTotal>,
    /// How long the thread had run at the last beat.
    last: u64,
}

impl Job for Beating {
    fn interrupted(&mut self, at: &Interruption<'_>) {
        self.cells.iter().for_each(|cell| cell.store(at.now));
        let Some(running) = self.thread.processor_time() else { return };
        let gap = running.saturating_sub(std::mem::replace(&mut self.last, running));
        self.total.count.fetch_add(1, Ordering::Relaxed);
        self.total.nanos.fetch_add(gap, Ordering::Relaxed);
        // In units of 1024 ns^2: a second squared must fit a million times.
        self.total.squares.fetch_add((u128::from(gap).pow(2) >> 10) as u64, Ordering::Relaxed);
    }
}

impl Beat {
    /// Renews the time in these cells, on a thread of this process.
    pub(crate) fn start(
        thread: libc::pid_t,
        cells: Vec<Arc<TickerCell>>,
        clock: &Clock,
        total: &Arc<BeatTotal>,
    ) -> io::Result<Beat> {
        timer::install()?;
        let full = || io::Error::other("too many threads are interrupted at a time");
        let (ring, number) = Ring::take().ok_or_else(full)?;
        let mut beat = Beat { ring, timer: None, thread };
        let known = Thread::by_id(thread);
        let last = known.processor_time().unwrap_or(0);
        let job = Box::new(Beating { cells, thread: known, total: total.clone(), last });
        ring.begin(
            thread,
            Task {
                job,
                clock: clock.clone(),
                pace: Arc::new(Pace::new(false)),
                period: timer::nanos(PERIOD),
            },
        );
        beat.timer = Some(Timer::start(thread, number, PERIOD)?);
        Ok(beat)
    }

    pub(crate) fn thread(&self) -> libc::pid_t {
        self.thread
    }
}

impl Drop for Beat {
    fn drop(&mut self) {
        self.timer.take();
        self.ring.stop();
        self.ring.give_back();
    }
}

/// The running thread.
pub(crate) fn this_thread() -> libc::pid_t {
    super::thread::id()
}
