//! Renews the time on guests' own threads, where the ticker's thread isn't run.
//!
//! A timer of a thread's processor time interrupts it, and the handler writes the time. So the ticks are a sample of the processor
//! time, on a machine that is as busy as it may be.

use crate::clock::cell::TickerCell;
use crate::clock::source::Clock;
use crate::profile::{Beat, BeatTotal, this_thread};
use kperf_trace::TickTotal;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many threads are interrupted at a time.
const MAX_THREADS: usize = 64;

/// The timers of guests' threads.
#[derive(Default)]
pub(super) struct Beats {
    is_allowed: AtomicBool,
    /// When the last began, in ticks of the clock.
    begun: AtomicU64,
    count: AtomicUsize,
    threads: Mutex<Threads>,
    total: Arc<BeatTotal>,
}

#[derive(Default)]
struct Threads {
    beats: Vec<Beat>,
    /// The threads that had one.
    ids: Vec<i32>,
}

impl Beats {
    pub(super) fn allow(&self) {
        self.is_allowed.store(true, Ordering::Relaxed);
    }

    /// Whether a thread has a timer.
    pub(super) fn any(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    pub(super) fn begun(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    /// Starts a timer of the running thread. Returns whether it has one.
    pub(super) fn begin_here(&self, cells: &[Arc<TickerCell>], clock: &Clock, now: u64) -> bool {
        if !self.is_allowed.load(Ordering::Relaxed) {
            return false;
        }
        self.begun.store(now, Ordering::Relaxed);
        let mut threads = self.threads();
        let id = this_thread();
        if !threads.ids.contains(&id) && threads.ids.len() < MAX_THREADS {
            threads.ids.push(id);
        }
        self.begin(&mut threads, id, cells, clock)
    }

    /// Starts timers of all threads that had one.
    pub(super) fn begin_again(&self, cells: &[Arc<TickerCell>], clock: &Clock) {
        let mut threads = self.threads();
        for id in threads.ids.clone() {
            if !self.begin(&mut threads, id, cells, clock) {
                threads.ids.retain(|other| *other != id);
            }
        }
    }

    fn begin(&self, threads: &mut Threads, id: i32, cells: &[Arc<TickerCell>], clock: &Clock) -> bool {
        if threads.beats.iter().any(|beat| beat.thread() == id) {
            return true;
        }
        if threads.ids.contains(&id)
            && let Ok(beat) = Beat::start(id, cells.to_vec(), clock, &self.total)
        {
            threads.beats.push(beat);
            self.count.store(threads.beats.len(), Ordering::Relaxed);
            return true;
        }
        false
    }

    /// Stops all timers.
    pub(super) fn stop(&self) {
        if self.any() {
            self.threads().beats.clear();
            self.count.store(0, Ordering::Relaxed);
        }
    }

    /// Adds the distances between the ticks so far.
    pub(super) fn add_to(&self, ticks: &mut TickTotal) {
        let [count, nanos, squares] = [&self.total.count, &self.total.nanos, &self.total.squares]
            .map(|sum| sum.load(Ordering::Relaxed));
        ticks.count += count;
        ticks.nanos = ticks.nanos.saturating_add(nanos);
        ticks.squares += squares as f64 * 1024.0;
    }

    fn threads(&self) -> MutexGuard<'_, Threads> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
