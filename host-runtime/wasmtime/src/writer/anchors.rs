//! Further anchors: when a trace's clock is compared with the calendar again.

use crate::clock::source::Clock;
use kperf_trace::Anchor;
use std::time::{Duration, Instant};

/// When a trace gets another anchor: the processor's clock drifts, and the calendar may be set.
pub(crate) struct Anchors {
    clock: Clock,
    period: Duration,
    /// When the last one was made.
    last: Instant,
}

impl Anchors {
    /// One a minute, the first in a minute. The test clock gets none: its readings are counted.
    pub(crate) fn new(clock: Clock) -> Anchors {
        Anchors { clock, period: Duration::from_secs(60), last: Instant::now() }
    }

    pub(super) fn due(&mut self) -> Option<Anchor> {
        self.clock.stopwatch()?;
        if self.last.elapsed() < self.period {
            return None;
        }
        self.last = Instant::now();
        Some(self.clock.anchor())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::source::ClockChoice;

    /// The anchors that are due at two moments.
    fn due(choice: ClockChoice, period: Duration) -> Vec<Anchor> {
        let mut anchors = Anchors { period, ..Anchors::new(Clock::new(choice)) };
        [anchors.due(), anchors.due()].into_iter().flatten().collect()
    }

    #[test]
    fn anchors_come_when_they_are_due() {
        let often = due(ClockChoice::Precise, Duration::ZERO);
        assert_eq!(often.len(), 2);
        assert!(often[0].ticks < often[1].ticks, "{often:?}");
        assert!(often.iter().all(|anchor| anchor.unix_nanos > 1_600_000_000_000_000_000), "{often:?}");
        assert_eq!(due(ClockChoice::Precise, Duration::from_secs(60)), []);
        assert_eq!(due(ClockChoice::Test, Duration::ZERO), []);
    }
}
