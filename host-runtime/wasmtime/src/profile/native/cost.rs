//! What an interruption costs the thread beside the handler: the kernel's part, and the hypervisor's.

use super::pace::{self, Pace};
use super::ring::{Interruption, Job, Ring, Task};
use super::thread::{self, Thread};
use super::timer::{self, Timer};
use crate::clock::source::Clock;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

/// How often the thread is interrupted meanwhile.
const PERIOD: Duration = Duration::from_micros(50);
/// So many interruptions find nothing in the caches.
const FIRST: u64 = 16;
/// After them it is measured so often, with so many interruptions each: another virtual machine may take the processor once or twice.
const TIMES: usize = 7;
const SIGNALS: u64 = 8;
/// So many turns are made alone, before and after.
const TURNS: usize = 32;
/// More aren't made where no signal comes.
const MOST_TURNS: u64 = 400;

/// Measures it on this thread, once in a process.
pub(super) fn measure(clock: &Clock) {
    pace::measure(|| measured(clock).unwrap_or(0).min(timer::nanos(PERIOD)));
}

/// Only counts the interruptions, as every ring does.
struct Nothing;

impl Job for Nothing {
    fn interrupted(&mut self, _at: &Interruption<'_>) {}
}

fn measured(clock: &Clock) -> Option<u64> {
    let thread = Thread::by_id(thread::id());
    let alone = || (0..TURNS).map(|_| turn(&thread)).collect::<Option<Vec<u64>>>();
    let mut turns = alone()?;
    let (ring, number) = Ring::take()?;
    let pace = Arc::new(Pace::new(false));
    ring.begin(
        thread.id(),
        Task { job: Box::new(Nothing), clock: clock.clone(), pace, period: timer::nanos(PERIOD) },
    );
    let interrupted = Timer::start(thread.id(), number, PERIOD).ok().and_then(|_timer| {
        let (.., signals) = until(&thread, ring, FIRST)?;
        if signals == 0 {
            return None;
        }
        (0..TIMES).map(|_| until(&thread, ring, SIGNALS)).collect::<Option<Vec<_>>>()
    });
    ring.stop();
    ring.give_back();
    turns.extend(alone()?);
    turns.sort_unstable();
    let of_turn = turns[TURNS];
    let cost =
        |(took, turns, signals): (u64, u64, u64)| took.saturating_sub(turns * of_turn).checked_div(signals);
    Some(usual(interrupted?.into_iter().map(cost).collect::<Option<Vec<_>>>()?))
}

/// The mean without the smallest and the two largest.
fn usual(mut costs: Vec<u64>) -> u64 {
    costs.sort_unstable();
    let usual = costs.get(1..costs.len().saturating_sub(2)).unwrap_or_default();
    usual.iter().sum::<u64>().checked_div(usual.len() as u64).unwrap_or(0)
}

/// Makes turns until the thread was interrupted so often. Returns how long that took, and the numbers of turns and interruptions.
fn until(thread: &Thread, ring: &Ring, signals: u64) -> Option<(u64, u64, u64)> {
    let (begun, first) = (thread.processor_time()?, ring.signals());
    let mut turns = 0;
    while ring.signals() - first < signals && turns < MOST_TURNS {
        turn(thread)?;
        turns += 1;
    }
    Some((thread.processor_time()?.saturating_sub(begun), turns, ring.signals() - first))
}

/// How long some work takes that is always the same, some 40 us of processor time.
fn turn(thread: &Thread) -> Option<u64> {
    let begun = thread.processor_time()?;
    let mut x = black_box(1_u64);
    for _ in 0..20_000 {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    black_box(x);
    Some(thread.processor_time()?.saturating_sub(begun))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_time_without_the_processor_is_no_cost() {
        assert_eq!(usual(vec![27, 31, 27, 2_000_000, 2, 29, 3_000]), 28);
        assert_eq!([usual(Vec::new()), usual(vec![7])], [0, 0]);
    }
}
