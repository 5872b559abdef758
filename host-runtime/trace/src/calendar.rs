//! Readings of the trace's clock as calendar time.

use crate::header::{Anchor, Header};

/// Computes calendar time from a trace's anchors: the one in its [`Header`], and those that follow.
///
/// Calendar time never goes back, and a call is nearly as long as by the trace's clock. The effect of a new anchor
/// depends on its difference from the computed time:
///
/// * Less than a second (clocks drift): time goes up to a tenth faster or slower until the difference is gone.
/// * Later by more (the calendar was set, or the machine slept): time jumps to the anchor.
/// * Earlier by more: time goes at half its speed until the calendar has caught up.
#[derive(Clone, Debug)]
pub struct Calendar {
    nanos_per_tick: f64,
    /// In the order of time; not empty.
    segments: Vec<Segment>,
    /// The last reading that was converted: later anchors must not change it.
    told_ticks: u64,
}

/// A segment in which time goes at one speed, up to the next segment.
#[derive(Clone, Copy, Debug)]
struct Segment {
    ticks: u64,
    unix_nanos: u64,
    /// Calendar nanoseconds for each nanosecond of the clock.
    speed: f64,
}

/// A smaller difference is drift.
const DRIFT_NANOS: u64 = 1_000_000_000;
/// How much faster or slower time goes to correct drift.
const SLEW: f64 = 0.1;
/// How fast it goes while the calendar catches up.
const CATCHING_UP: f64 = 0.5;
/// How many segments are kept: enough for two months. Of a damaged trace the last are kept.
const MAX_SEGMENTS: usize = 1 << 18;

impl Calendar {
    /// Begins with the header's anchor.
    pub fn new(header: &Header) -> Calendar {
        let Anchor { ticks, unix_nanos } = header.anchor;
        Calendar {
            nanos_per_tick: header.nanos_per_tick(),
            segments: vec![Segment { ticks, unix_nanos, speed: 1.0 }],
            told_ticks: 0,
        }
    }

    /// Adds an anchor. Times up to the last converted reading stay as they are.
    pub fn anchor(&mut self, anchor: &Anchor) {
        let ticks = anchor.ticks.max(self.told_ticks.saturating_add(1));
        let now = self.at(ticks);
        let wanted = anchor.unix_nanos.saturating_add(self.nanos(ticks - anchor.ticks, 1.0));
        let late = wanted.abs_diff(now);
        let begin = |unix_nanos, speed| Segment { ticks, unix_nanos, speed };
        let (first, length) = match (wanted >= now, late) {
            (true, DRIFT_NANOS..) => (begin(wanted, 1.0), None),
            (false, DRIFT_NANOS..) => (begin(now, CATCHING_UP), Some(late as f64 / (1.0 - CATCHING_UP))),
            (_, 0) => (begin(now, 1.0), None),
            (true, _) => (begin(now, 1.0 + SLEW), Some(late as f64 / SLEW)),
            (false, _) => (begin(now, 1.0 - SLEW), Some(late as f64 / SLEW)),
        };
        // Later segments of earlier anchors are no longer valid.
        self.segments.retain(|segment| segment.ticks < ticks);
        if self.segments.len() + 2 > MAX_SEGMENTS {
            self.segments.drain(..MAX_SEGMENTS / 2);
        }
        self.segments.push(first);
        if let Some(nanos) = length {
            let later = ticks.saturating_add((nanos / self.nanos_per_tick).round() as u64);
            let unix_nanos = self.at(later);
            self.segments.push(Segment { ticks: later, unix_nanos, speed: 1.0 });
        }
    }

    /// Nanoseconds from 1970-01-01 00:00 UTC to a reading of the clock. Never decreases.
    pub fn unix_nanos(&mut self, ticks: u64) -> u64 {
        self.told_ticks = self.told_ticks.max(ticks);
        self.at(ticks)
    }

    fn at(&self, ticks: u64) -> u64 {
        let behind = self.segments.partition_point(|segment| segment.ticks <= ticks);
        let Some(segment) = self.segments.get(behind.saturating_sub(1)) else { return 0 };
        let nanos = self.nanos(ticks.abs_diff(segment.ticks), segment.speed);
        if ticks < segment.ticks {
            return segment.unix_nanos.saturating_sub(nanos);
        }
        let unix_nanos = segment.unix_nanos.saturating_add(nanos);
        // Rounding must not pass the beginning of the next one.
        self.segments.get(behind).map_or(unix_nanos, |next| unix_nanos.min(next.unix_nanos))
    }

    fn nanos(&self, ticks: u64, speed: f64) -> u64 {
        let nanos = (ticks as f64 * (self.nanos_per_tick * speed)).round() as u64;
        nanos.min(i64::MAX as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::ClockInfo;

    const SECOND: u64 = 1_000_000_000;
    const START: u64 = 1_700_000_000 * SECOND;

    /// Two ticks a nanosecond; the recording begins at 1000.
    fn calendar() -> Calendar {
        let clock = ClockInfo { ticks_per_second: 2e9, ..ClockInfo::default() };
        let anchor = Anchor { ticks: 1000, unix_nanos: START };
        Calendar::new(&Header { clock, anchor, ..Header::default() })
    }

    fn ticks(seconds: u64) -> u64 {
        1000 + 2 * seconds * SECOND
    }

    #[test]
    fn without_anchors_it_is_what_the_header_says() {
        let clock = ClockInfo { ticks_per_second: 2.6e9, ..ClockInfo::default() };
        let anchor = Anchor { ticks: 5_000_000, unix_nanos: START };
        let header = Header { clock, anchor, ..Header::default() };
        let mut calendar = Calendar::new(&header);
        for ticks in [0, 1, 4_999_999, 5_000_000, 5_000_001, 77_777_777_777, u64::MAX] {
            assert_eq!(calendar.unix_nanos(ticks), header.unix_nanos(ticks), "{ticks}");
        }
    }

    #[test]
    fn drift_goes_away_and_lengths_hardly_change() {
        for late in [6_000_000i64, -6_000_000] {
            let mut calendar = calendar();
            let seen = calendar.unix_nanos(ticks(60));
            calendar.anchor(&Anchor { ticks: ticks(60), unix_nanos: seen.saturating_add_signed(late) });
            assert_eq!(calendar.unix_nanos(ticks(60)), seen, "{late}");
            let length = calendar.unix_nanos(ticks(60) + 2_000_000) - seen;
            assert!(length.abs_diff(1_000_000) <= 100_000, "{late}: {length}");
            let wanted = (seen + SECOND).saturating_add_signed(late);
            assert!(calendar.unix_nanos(ticks(61)).abs_diff(wanted) <= 1, "{late}");
        }
    }

    #[test]
    fn a_calendar_that_was_set_is_followed() {
        let mut later = calendar();
        later.anchor(&Anchor { ticks: ticks(60), unix_nanos: START + 7_200 * SECOND });
        assert_eq!(later.unix_nanos(ticks(60) - 2), START + 60 * SECOND - 1);
        assert_eq!(later.unix_nanos(ticks(61)), START + 7_201 * SECOND);
        let mut earlier = calendar();
        earlier.anchor(&Anchor { ticks: ticks(60), unix_nanos: START + 50 * SECOND });
        let seen = [60, 62, 80, 81, 100].map(|at| earlier.unix_nanos(ticks(at)) - START);
        assert_eq!(seen, [60, 61, 70, 71, 90].map(|at| at * SECOND));
    }

    #[test]
    fn time_never_goes_back_and_what_was_told_stays() {
        let mut random = 1u64;
        let mut below = |end: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % end
        };
        let mut calendar = calendar();
        let (mut now, mut seen) = (1000, Vec::new());
        for _ in 0..3_000 {
            now += below(2_000_000_000);
            if below(3) == 0 {
                let most = [1000, 4 * SECOND, 4_000 * SECOND][below(3) as usize];
                let drift = below(most);
                // Also of a moment before what was seen, as another lane's blocks come later.
                let ticks = now - below(now.min(9_000_000_000));
                let unix = calendar.clone().unix_nanos(ticks);
                let unix_nanos = if below(2) == 0 { unix + drift } else { unix.saturating_sub(drift) };
                calendar.anchor(&Anchor { ticks, unix_nanos });
            }
            seen.push((now, calendar.unix_nanos(now)));
        }
        for (ticks, unix) in &seen {
            assert_eq!(calendar.unix_nanos(*ticks), *unix);
        }
        assert!(seen.windows(2).all(|pair| pair[0].1 <= pair[1].1));
    }

    #[test]
    fn damaged_anchors_do_no_harm() {
        let mut calendar = calendar();
        for n in 0..10 {
            for ticks in [0, 1000, u64::MAX / 2, u64::MAX] {
                for unix_nanos in [0, START, u64::MAX] {
                    calendar.anchor(&Anchor { ticks: ticks.wrapping_add(n), unix_nanos });
                    let seen = [0, 1, 1000, ticks, u64::MAX].map(|ticks| calendar.clone().unix_nanos(ticks));
                    assert!(seen[0] <= seen[1] && seen[1] <= seen[2] && seen[2] <= seen[4], "{seen:?}");
                }
            }
        }
    }
}
