//! Divides the time between two samples.

use super::spent::Spent;
use crate::clock::source::Clock;
use std::time::Duration;

/// Shorter waits than this are the noise of two clocks that aren't read at once, and of a hypervisor at each interruption: 3 us.
const NOISE: Duration = Duration::from_micros(50);

/// What a sample costs a sleeping thread at most: it is woken, and sleeps again. 60 to 90 us on a virtual machine.
const WOKEN: Duration = Duration::from_micros(200);

/// The time between two samples, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Parts {
    pub(super) running: u64,
    pub(super) for_processor: u64,
    pub(super) waiting: u64,
    /// What seemed to be a wait of its own before, and was for a processor: the system says so when it has got one.
    pub(super) late: u64,
}

impl Parts {
    /// All of it in one call, whatever it did.
    pub(super) fn of_running(running: u64) -> Parts {
        Parts { running, ..Parts::default() }
    }
}

/// Divides `elapsed` ticks between two samples. `is_same`: both found the thread on the same path.
pub(super) fn split(elapsed: u64, spent: Option<(Spent, Spent)>, is_same: bool, clock: &Clock) -> Parts {
    let Some((before, now)) = spent else { return Parts::of_running(elapsed) };
    let ticks = |nanos: u64| clock.ticks(Duration::from_nanos(nanos));
    let given_up = before.waits.zip(now.waits).map(|(before, now)| now.saturating_sub(before));
    // It would have given its processor up again if it had woken by itself.
    let has_slept = is_same && given_up == Some(1);
    let running = ticks(now.running.saturating_sub(before.running)).min(elapsed);
    // The recorder's time is none of theirs.
    let sampling = ticks(now.sampling.saturating_sub(before.sampling));
    let rest = (elapsed - running).saturating_sub(sampling);
    let ready = ticks(now.waiting.saturating_sub(before.waiting));
    // Another thread reads it.
    let late = if given_up.is_none() { ready.saturating_sub(rest) } else { 0 };
    if rest < clock.ticks(NOISE) {
        return Parts { running, late, ..Parts::default() };
    }
    let running = if has_slept && running < clock.ticks(WOKEN) { 0 } else { running };
    let for_processor = match given_up {
        // It has lost its processor, if not to another thread, then to another virtual machine.
        Some(0) => rest,
        _ => ready.min(rest),
    };
    let waiting = Some(rest - for_processor).filter(|&waiting| waiting >= clock.ticks(NOISE));
    Parts { running, for_processor, waiting: waiting.unwrap_or(0), late }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClockChoice;

    #[test]
    fn time_is_divided_by_what_the_thread_did() {
        let clock = Clock::new(ClockChoice::Precise);
        let ticks = |nanos| clock.ticks(Duration::from_nanos(nanos));
        let parts = |spent: Spent, is_same| {
            let Parts { running, for_processor, waiting, late } =
                split(ticks(10_000_000), Some((Spent::default_of(spent.waits), spent)), is_same, &clock);
            [running, for_processor, waiting, late].map(|ticks| clock.nanos(ticks).div_ceil(10_000))
        };
        let spent = |running, waiting, waits| Spent { running, sampling: 0, waiting, waits };
        assert_eq!(parts(spent(9_990_000, 0, None), true), [999, 0, 0, 0], "noise is no wait");
        assert_eq!(parts(spent(4_000_000, 1_000_000, None), true), [400, 100, 500, 0]);
        // It waited for a processor before this time, too.
        assert_eq!(parts(spent(4_000_000, 8_000_000, None), true), [400, 600, 0, 200]);
        assert_eq!(parts(spent(4_000_000, 1_000_000, Some(0)), true), [400, 600, 0, 0]);
        // It was woken for the sample: that is no work of its own, unless it is long, or it came by.
        assert_eq!(parts(spent(100_000, 0, Some(1)), true), [0, 0, 990, 0]);
        assert_eq!(parts(spent(100_000, 0, Some(1)), false), [10, 0, 990, 0]);
        assert_eq!(parts(spent(100_000, 0, Some(2)), true), [10, 0, 990, 0]);
        assert_eq!(parts(spent(4_000_000, 0, Some(1)), true), [400, 0, 600, 0]);
    }

    impl Spent {
        /// Nothing yet, if switches are known like here.
        fn default_of(waits: Option<u64>) -> Spent {
            Spent { waits: waits.map(|_| 0), ..Spent::default() }
        }
    }
}
