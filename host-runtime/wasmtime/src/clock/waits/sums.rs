//! How a thread has spent its time, where the kernel doesn't report its switches: only sums.
#![allow(unsafe_code)] // The C library knows threads.

use super::Clock;
use crate::clock::delay::Delay;
use crate::clock::processor_time::{known_thread_id, processor_nanos};
use std::time::Duration;

/// A smaller sum of waits is the noise of clocks that aren't read at once. It counts when it is larger.
const NOISE: Duration = Duration::from_micros(100);

/// A thread's clocks, at their last reading that found a wait.
pub(super) struct Sums {
    thread: i32,
    ticks: u64,
    running: u64,
    ready: u64,
    /// How many times it gave its processor up.
    given_up: Option<u64>,
}

/// What a reading found, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// It was ready to run, and the kernel doesn't say so: another virtual machine had the processor.
    pub(super) stolen: u64,
    /// It waited itself.
    pub(super) own: u64,
}

impl Sums {
    /// Those of the calling thread. `None` if its processor time can't be read.
    pub(super) fn of_this_thread(clock: &Clock, delay: Option<&Delay>) -> Option<Sums> {
        let thread = known_thread_id();
        Some(Sums {
            thread,
            ticks: clock.now(),
            running: processor_nanos(thread)?,
            ready: ready(delay),
            given_up: given_up(thread),
        })
    }

    /// The waits since the last reading that are not in `delay`'s sum. Any thread may call it.
    pub(super) fn read(&mut self, now: u64, clock: &Clock, delay: Option<&Delay>) -> Found {
        let Some(running) = processor_nanos(self.thread) else { return Found::default() };
        let ready = ready(delay);
        let ran = running.saturating_sub(self.running) + ready.saturating_sub(self.ready);
        let waited = now.saturating_sub(self.ticks).saturating_sub(clock.ticks(Duration::from_nanos(ran)));
        if waited < clock.ticks(NOISE) {
            return Found::default();
        }
        let given_up = given_up(self.thread);
        let never = given_up.is_some() && given_up == self.given_up;
        *self = Sums { thread: self.thread, ticks: now, running, ready, given_up };
        match never {
            true => Found { stolen: waited, own: 0 },
            false => Found { stolen: 0, own: waited },
        }
    }
}

fn ready(delay: Option<&Delay>) -> u64 {
    delay.and_then(Delay::nanos).unwrap_or(0)
}

/// How many times a thread of this process gave its processor up to wait for something, if it is known.
fn given_up(thread: i32) -> Option<u64> {
    if thread == known_thread_id() {
        // SAFETY: the structure is plain data, filled in by the call.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            (libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) == 0).then_some(usage)
        };
        return usage.map(|usage| usage.ru_nvcsw as u64);
    }
    let status = std::fs::read_to_string(format!("/proc/self/task/{thread}/status")).ok()?;
    let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
    count.trim().parse().ok()
}
