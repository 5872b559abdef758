//! Reads clocks: the processor's counter, the test clock, instructions.

use super::processors::processors;
use kperf_trace::{Anchor, ClockInfo, ClockKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// How the guest learns the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockChoice {
    /// Every event reads the clock: the processor's time stamp counter where it is invariant, else the system's
    /// monotonic clock.
    #[default]
    Precise,
    /// Every event loads the time that a thread writes once a period. That is far cheaper, but times are only as
    /// exact as the period, and the thread keeps one processor busy while guests run. On a machine with one processor the
    /// thread sleeps between its ticks. While events are few it sleeps altogether: they read the clock then.
    Ticker {
        /// How often. [`ClockChoice::PERIOD`] is a good choice; a shorter one slows the guest down. With one processor,
        /// [`ClockChoice::ALONE_PERIOD`] replaces any shorter one.
        period: Duration,
    },
    /// The guest counts its own instructions: exact, and the same on every machine and in every run. The module must have been
    /// rewritten for it, and each instance counts for itself. If a call traps or the host abandons it, the instructions since its
    /// last event may be missing.
    Instructions,
    /// For tests: every reading is one microsecond after the previous; the first is 1000 ns after 1970 began.
    Test,
}

impl ClockChoice {
    /// A ticker's usual period.
    pub const PERIOD: Duration = Duration::from_micros(2);

    /// The shortest period with one processor. On a virtual machine it takes up to 40 us to wake a thread.
    pub const ALONE_PERIOD: Duration = Duration::from_millis(1);

    /// A ticker with the usual period.
    pub fn ticker() -> ClockChoice {
        ClockChoice::Ticker { period: ClockChoice::PERIOD }
    }

    /// This clock, with the period of a ticker on this machine. A recorder does this by itself.
    #[must_use]
    pub fn for_this_machine(self) -> ClockChoice {
        match self {
            ClockChoice::Ticker { period } if processors() == 1 && !period.is_zero() => {
                ClockChoice::Ticker { period: period.max(ClockChoice::ALONE_PERIOD) }
            }
            _ => self,
        }
    }
}

/// Where ticks come from. Cheap to clone; all clones read the same clock.
#[derive(Clone, Debug)]
pub(crate) enum Clock {
    Counter(quanta::Clock),
    /// Each instance has its own, readable only with the store. For all other readers it doesn't advance.
    Instructions,
    /// The last reading.
    Test(Arc<AtomicU64>),
}

/// Ticks of the test clock between two readings.
const TEST_STEP: u64 = 1000;

impl Clock {
    pub(crate) fn new(choice: ClockChoice) -> Clock {
        match choice {
            ClockChoice::Test => Clock::Test(Arc::default()),
            ClockChoice::Instructions => Clock::Instructions,
            ClockChoice::Precise | ClockChoice::Ticker { .. } => Clock::Counter(quanta::Clock::new()),
        }
    }

    #[inline]
    pub(crate) fn now(&self) -> u64 {
        match self {
            Clock::Counter(clock) => clock.raw(),
            Clock::Instructions => 0,
            Clock::Test(last) => last.fetch_add(TEST_STEP, Ordering::Relaxed) + TEST_STEP,
        }
    }

    /// A reading to measure our own work. `None` for the test clock, whose readings are counted.
    pub(crate) fn stopwatch(&self) -> Option<u64> {
        match self {
            Clock::Counter(clock) => Some(clock.raw()),
            Clock::Instructions | Clock::Test(_) => None,
        }
    }

    /// Whether the guests themselves count, each from 0.
    pub(crate) fn is_count(&self) -> bool {
        matches!(self, Clock::Instructions)
    }

    pub(crate) fn nanos(&self, ticks: u64) -> u64 {
        match self {
            Clock::Counter(clock) => clock.delta_as_nanos(0, ticks),
            Clock::Instructions | Clock::Test(_) => ticks,
        }
    }

    pub(crate) fn ticks(&self, time: Duration) -> u64 {
        (time.as_secs_f64() * self.ticks_per_second()) as u64
    }

    pub(crate) fn ticks_per_second(&self) -> f64 {
        // Long enough to know the rate to nine digits from whole nanoseconds.
        const LONG: u64 = 1 << 40;
        LONG as f64 * 1e9 / self.nanos(LONG) as f64
    }

    /// What the trace's header says about the clock.
    pub(crate) fn info(&self, choice: ClockChoice) -> ClockInfo {
        let ticks_per_second = self.ticks_per_second();
        let source = match self {
            Clock::Test(_) => "test",
            Clock::Instructions => "instructions",
            // quanta doesn't say which clock it found; only the system's clock counts in nanoseconds.
            Clock::Counter(clock) if clock.delta_as_nanos(0, 1 << 40) == 1 << 40 => "monotonic",
            Clock::Counter(_) => "tsc",
        };
        let (kind, period_nanos) = match choice {
            ClockChoice::Ticker { period } => (ClockKind::Ticker, Some(period.as_nanos() as u64)),
            ClockChoice::Instructions => (ClockKind::Instructions, None),
            ClockChoice::Precise | ClockChoice::Test => (ClockKind::Precise, None),
        };
        let resolution_nanos = match (self, period_nanos) {
            (_, Some(nanos)) => nanos as f64,
            (Clock::Test(_), None) => TEST_STEP as f64,
            (Clock::Counter(clock), None) => counter_step(clock) as f64 * 1e9 / ticks_per_second,
            (Clock::Instructions, None) => 1e9 / ticks_per_second,
        };
        ClockInfo {
            kind,
            source: source.into(),
            ticks_per_second,
            resolution_nanos,
            period_nanos,
            no_ticker: None,
        }
    }

    /// Ties the clock to the calendar.
    pub(crate) fn anchor(&self) -> Anchor {
        let unix_nanos = || {
            let unix = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            unix.as_nanos() as u64
        };
        let clock = match self {
            Clock::Counter(clock) => clock,
            Clock::Instructions => return Anchor { ticks: 0, unix_nanos: unix_nanos() },
            Clock::Test(_) => return Anchor::default(),
        };
        // The closest of a few tries: the thread may be suspended between two readings, or move to a
        // processor with a counter that lags.
        let tries = (0..16).filter_map(|_| {
            let (before, unix_nanos, after) = (clock.raw(), unix_nanos(), clock.raw());
            let distance = after.checked_sub(before)?;
            Some((distance, Anchor { ticks: before + distance / 2, unix_nanos }))
        });
        tries
            .min_by_key(|(distance, _)| *distance)
            .map_or_else(|| Anchor { ticks: clock.raw(), unix_nanos: unix_nanos() }, |(_, anchor)| anchor)
    }
}

/// How many ticks a counter moves at a time: some processors' advance by 10 ns, whatever a tick is.
fn counter_step(clock: &quanta::Clock) -> u64 {
    const READINGS: u64 = 256;
    let mut last = clock.raw();
    let distance = |turns: u64| {
        // Of different lengths, so that a reading's own time isn't mistaken for a step.
        (0..turns % 16).for_each(|turn| {
            std::hint::black_box(turn);
        });
        let now = clock.raw();
        now.saturating_sub(std::mem::replace(&mut last, now))
    };
    step_of(&(0..READINGS).map(distance).collect::<Vec<_>>())
}

/// The step that all distances between readings are multiples of. A step of 10 ns is no whole number of ticks (25.96, say), so each may
/// be a tick longer or shorter.
fn step_of(distances: &[u64]) -> u64 {
    /// Less are as good as single ticks.
    const LEAST: u64 = 8;
    let step = distances.iter().copied().filter(|distance| *distance > 1).min().unwrap_or(1);
    // Beyond that each distance is near a multiple.
    let short = distances.iter().filter(|distance| **distance < step * step / 8);
    let is_multiple = |distance: &u64| {
        let beyond = distance % step;
        beyond.min(step - beyond) <= 1 + distance / step
    };
    if step >= LEAST && short.clone().all(is_multiple) { step } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_clock_steps_by_a_microsecond() {
        let clock = Clock::new(ClockChoice::Test);
        assert_eq!([clock.now(), clock.clone().now(), clock.now()], [1000, 2000, 3000]);
        assert_eq!(clock.info(ClockChoice::Test).ticks_per_second, 1e9);
    }

    #[test]
    fn a_counter_s_step_is_what_all_distances_are_made_of() {
        // Steps of 10 ns at 2.596 ticks a nanosecond, as one EPYC has them; of two ticks; of one; of whole 24 ticks.
        let readings = |turns: &[u64]| turns.iter().map(|n| n * 2596 / 100).collect::<Vec<_>>();
        let coarse = [readings(&[1, 1, 2, 1, 1, 3, 9, 114, 117]), vec![26, 1, 52, 0, 104]].concat();
        assert_eq!(step_of(&coarse), 25);
        assert_eq!(step_of(&[18, 20, 36, 22, 24, 40]), 1);
        assert_eq!(step_of(&[33, 35, 34, 39, 50, 61, 44]), 1);
        assert_eq!(step_of(&[24, 48, 24, 24, 72, 2400]), 24);
        assert_eq!([step_of(&[0, 0, 0]), step_of(&[])], [1, 1]);
        let Clock::Counter(clock) = Clock::new(ClockChoice::Precise) else { panic!("a counter") };
        assert!((1..10_000).contains(&counter_step(&clock)));
    }

    #[test]
    fn the_anchor_is_today() {
        let clock = Clock::new(ClockChoice::Precise);
        let anchor = clock.anchor();
        let later = clock.now();
        let unix = anchor.unix_nanos + clock.nanos(later - anchor.ticks);
        let now =
            SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970").as_nanos() as u64;
        assert!(now.abs_diff(unix) < 1_000_000_000, "{unix} against {now}");
    }
}
