//! When the ticker spins, and when it naps.

use crate::ClockChoice;
use crate::clock::source::Clock;
use std::time::Duration;

/// How long a nap is. A tick after a nap costs some 20 us on a virtual machine, so naps of this length cost 4 % of a processor.
/// 2,000 samples a second are enough for shares.
const NAP: Duration = Duration::from_micros(500);
/// A gap between two ticks of at least this length is not an interrupt: another thread has the processor.
const SCARCE: Duration = Duration::from_micros(500);
/// A thread that has run for so long has a processor to itself: more than the scheduler gives one among others at a time.
const SLICE: Duration = Duration::from_millis(8);
/// A gap up to this is the scheduler's and the memory's.
const NOISE: Duration = Duration::from_micros(100);
/// With so few samples shares would be off by tens of points.
const FEW: u64 = 20;
/// Below so many events a second each event reads the clock. A reading costs 30 ns, so that is 3 % of the guest's time.
const SPARSE: f64 = 1_000_000.0;
/// How long it ticks before it checks whether events are few.
const AWAKE: Duration = Duration::from_millis(50);
/// The same while it naps, which costs little. But with few processors, events ask for milliseconds until it runs again.
const NAPPING: Duration = Duration::from_millis(200);
/// How long it counts events then.
const LOOK: Duration = Duration::from_micros(500);
/// How long it naps after a shortage of processors, before it spins again.
const FIRST_REST: Duration = Duration::from_millis(50);
/// Each time that spinning fails again, it naps twice as long, at most this.
const LONGEST_REST: Duration = Duration::from_secs(1);

/// Finds the pace of the ticks. Moments and lengths are ticks of the clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    period: Duration,
    period_ticks: u64,
    /// How long it is to the next tick. If all were the same, a loop of the guest's could keep step with them.
    distance: u64,
    random: u64,
    nap_ticks: u64,
    scarce: u64,
    first_rest: u64,
    slice: u64,
    longest_rest: u64,
    /// A shorter gap is the scheduler's and the memory's ordinary noise.
    noise: u64,
    /// `u64::MAX` if it never rests.
    awake: u64,
    /// The same while it naps.
    napping: u64,
    look: u64,
    /// [`SPARSE`], for a tick of the clock.
    sparse: f64,
    mode: Mode,
    /// How long the last rest was.
    rest: u64,
}

#[derive(Clone, Copy, Debug)]
enum Mode {
    /// It has had a processor to itself since then.
    Spins { since: u64 },
    /// It naps between its ticks until then.
    Naps { until: u64 },
}

impl Pace {
    /// For ticks in every period. `ticks` converts to the clock's.
    pub(super) fn new(period: Duration, ticks: impl Fn(Duration) -> u64) -> Pace {
        // With one processor it hardly runs during a short call: the call's two ends must not get the time of one tick.
        let is_alone = (NAP..=ClockChoice::ALONE_PERIOD).contains(&period);
        // If a whole period is long enough to sleep, it never spins.
        let mode = if period < NAP { Mode::Spins { since: 0 } } else { Mode::Naps { until: u64::MAX } };
        Pace {
            period,
            period_ticks: ticks(period).max(1),
            distance: ticks(period).max(1),
            random: 0x9e37_79b9_7f4a_7c15,
            nap_ticks: ticks(period.max(NAP)),
            scarce: ticks(period + SCARCE),
            first_rest: ticks(FIRST_REST),
            slice: ticks(SLICE),
            longest_rest: ticks(LONGEST_REST),
            noise: ticks(if is_alone { NOISE } else { (period * 10).max(NOISE) }),
            // With longer sleeps between ticks it costs nothing.
            awake: if period <= ClockChoice::ALONE_PERIOD { ticks(AWAKE) } else { u64::MAX },
            napping: if period <= ClockChoice::ALONE_PERIOD { ticks(NAPPING) } else { u64::MAX },
            look: ticks(LOOK),
            sparse: SPARSE / ticks(Duration::from_secs(1)).max(1) as f64,
            mode,
            rest: 0,
        }
    }

    /// Whether it is too early for the next tick, `gap` after the last.
    pub(super) fn is_early(&self, gap: u64) -> bool {
        matches!(self.mode, Mode::Spins { .. }) && gap < self.distance
    }

    /// Draws the distance to the next tick, from half a period to one and a half.
    fn draw(&mut self) {
        // Marsaglia, *Xorshift RNGs*, 2003.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.distance = self.period_ticks / 2 + self.random % (self.period_ticks + 1);
    }

    /// How long a gap may be before it counts as a stall.
    pub(super) fn usual(&self) -> u64 {
        match self.mode {
            Mode::Spins { .. } => self.noise,
            Mode::Naps { .. } => self.nap_ticks * 3,
        }
    }

    /// How long it is from tick to tick.
    pub(super) fn period(&self) -> u64 {
        self.period_ticks
    }

    /// How long a gap may be while it spins.
    pub(super) fn noise(&self) -> u64 {
        self.noise
    }

    /// How old a time may be before events read the clock instead.
    pub(super) fn patience(&self) -> u64 {
        self.usual()
    }

    /// How long a guest's first ticks are too few to be exact.
    pub(super) fn few_ticks(&self) -> u64 {
        match self.mode {
            Mode::Spins { .. } => 0,
            // A long period means that few ticks are wanted.
            Mode::Naps { .. } if self.period > ClockChoice::ALONE_PERIOD => 0,
            Mode::Naps { .. } => self.nap_ticks * FEW,
        }
    }

    /// Notes a tick, `gap` after the last. Returns whether it begins to nap.
    pub(super) fn note(&mut self, now: u64, gap: u64) -> bool {
        self.draw();
        match self.mode {
            Mode::Spins { since } if gap >= self.scarce => {
                let soon = self.rest > 0 && now.saturating_sub(since) < self.rest;
                self.rest = if soon { (self.rest * 2).min(self.longest_rest) } else { self.first_rest };
                self.mode = Mode::Naps { until: now.saturating_add(self.rest) };
                return true;
            }
            Mode::Naps { until } if now >= until => self.mode = Mode::Spins { since: now },
            _ => {}
        }
        false
    }

    /// Whether to check if events are few, after ticking for so long.
    pub(super) fn may_rest(&self, awake: u64) -> bool {
        match self.mode {
            Mode::Spins { .. } => awake >= self.awake,
            Mode::Naps { .. } => awake >= self.napping,
        }
    }

    /// Whether it ever stops ticking.
    pub(super) fn rests(&self) -> bool {
        self.awake < u64::MAX
    }

    /// For how long it counts events before it stops ticking.
    pub(super) fn look(&self) -> u64 {
        match self.mode {
            Mode::Spins { .. } => self.look,
            Mode::Naps { .. } => 0,
        }
    }

    /// Up to how many events in each tick of the clock may read it.
    pub(super) fn sparse(&self) -> f64 {
        self.sparse
    }

    /// The thread has run again only `late` ticks after it was woken: no processor was free, if that is long.
    pub(super) fn woke(&mut self, now: u64, late: u64) {
        if let Mode::Spins { since } = &mut self.mode {
            *since = now;
            if late >= self.scarce {
                self.mode = Mode::Naps { until: now.saturating_add(self.first_rest) };
            }
        }
    }

    /// Whether it has spun for long enough to have a processor.
    pub(super) fn spins_well(&self, now: u64) -> bool {
        matches!(self.mode, Mode::Spins { since } if now.saturating_sub(since) >= self.slice)
    }

    /// How long to sleep while others renew the time; `None` if it spins.
    pub(super) fn long_nap(&self, now: u64, clock: &Clock) -> Option<Duration> {
        match self.mode {
            Mode::Spins { .. } => None,
            Mode::Naps { until: u64::MAX } => Some(LONGEST_REST),
            Mode::Naps { until } => Some(Duration::from_nanos(clock.nanos(until.saturating_sub(now)))),
        }
    }

    /// How long to sleep until the next tick; `None` if it is too near.
    pub(super) fn nap(&self) -> Option<Duration> {
        matches!(self.mode, Mode::Naps { .. }).then(|| self.period.max(NAP))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000;
    const MS: u64 = 1_000_000;

    fn pace(period: Duration) -> Pace {
        Pace::new(period, |time| time.as_nanos() as u64)
    }

    #[test]
    fn it_spins_until_somebody_else_has_the_processor() {
        let mut pace = pace(Duration::from_micros(2));
        assert!(pace.is_early(US) && !pace.is_early(2 * US));
        assert!(!pace.may_rest(49 * MS) && pace.may_rest(50 * MS));
        pace.note(100 * US, 100 * US);
        assert_eq!((pace.nap(), pace.patience()), (None, 100 * US));
        pace.note(MS, 600 * US);
        assert_eq!((pace.nap(), pace.patience()), (Some(NAP), 1500 * US));
        assert!(!pace.is_early(0) && !pace.may_rest(199 * MS) && pace.may_rest(200 * MS));
        // A gap between naps is no reason to nap on.
        pace.note(50 * MS, 20 * MS);
        assert_eq!(pace.nap(), Some(NAP));
        pace.note(51 * MS, 500 * US);
        assert_eq!(pace.nap(), None);
    }

    #[test]
    fn ticks_keep_no_step_and_are_a_period_apart_on_average() {
        let mut pace = pace(Duration::from_micros(2));
        let distances: Vec<u64> = (0..10_000)
            .map(|n| {
                pace.note(n * 2 * US, 2 * US);
                pace.distance
            })
            .collect();
        assert!(distances.iter().all(|distance| (US..=3 * US).contains(distance)));
        assert!(distances.iter().any(|&distance| distance < US + 50) && distances.contains(&(3 * US)));
        let mean = distances.iter().sum::<u64>() / 10_000;
        assert!((1_980..=2_020).contains(&mean), "{mean}");
    }

    #[test]
    fn it_naps_longer_where_spinning_is_no_good_again() {
        let mut pace = pace(Duration::from_micros(2));
        let mut now = 0;
        let mut rests = Vec::new();
        for _ in 0..7 {
            now += 3 * MS;
            pace.note(now, MS);
            let Mode::Naps { until } = pace.mode else { panic!("it spins") };
            rests.push((until - now) / MS);
            now = until;
            pace.note(now, 0);
        }
        assert_eq!(rests, [50, 100, 200, 400, 800, 1000, 1000]);
        // A long time of its own makes good for it.
        pace.note(now + 5000 * MS, MS);
        assert_eq!(pace.rest, 50 * MS);
    }

    #[test]
    fn a_long_period_is_slept() {
        let mut pace = pace(Duration::from_millis(5));
        pace.note(500 * MS, 400 * MS);
        assert_eq!((pace.nap(), pace.patience()), (Some(Duration::from_millis(5)), 15 * MS));
        assert_eq!(pace.few_ticks(), 0);
        assert!(!pace.may_rest(u64::MAX - 1));
    }

    #[test]
    fn beside_a_guest_on_the_only_processor_it_sleeps_and_few_ticks_are_not_believed() {
        let mut pace = pace(ClockChoice::ALONE_PERIOD);
        pace.note(500 * MS, 400 * MS);
        assert_eq!((pace.nap(), pace.patience()), (Some(Duration::from_millis(1)), 3 * MS));
        assert_eq!((pace.few_ticks(), pace.noise()), (20 * MS, 100 * US));
    }
}
