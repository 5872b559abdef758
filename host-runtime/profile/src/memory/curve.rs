//! Live bytes over time.

/// How many intervals there are at most.
const PARTS: usize = 2048;

/// The changes in one of equally long intervals. Events of several threads come in any order, so changes are summed up in
/// the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Interval {
    /// Bytes of allocated blocks, less those of freed ones.
    change: i64,
    /// The most live bytes, in the order of the events.
    max: u64,
    /// Bytes of created collected objects.
    created: u64,
}

/// Successive intervals.
#[derive(Clone, Debug, Default)]
pub(crate) struct Curve {
    /// When the first interval begins, in ticks.
    start_ticks: Option<u64>,
    /// The ticks of an interval, as a power of two.
    shift: u32,
    intervals: Vec<Interval>,
}

/// The bytes in an interval, and at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// The interval's end, in ticks.
    pub ticks: u64,
    /// Bytes of live blocks.
    pub live_bytes: u64,
    /// The most of these since the moment before.
    pub max_bytes: u64,
    /// Bytes of collected objects that were created by then. When they are collected isn't recorded.
    pub object_bytes: u64,
}

impl Curve {
    /// `now`: the live bytes, these included.
    pub(crate) fn give(&mut self, ticks: u64, bytes: u64, now: u64) {
        let interval = self.at(ticks);
        interval.change = interval.change.saturating_add_unsigned(bytes);
        interval.max = interval.max.max(now);
    }

    pub(crate) fn take(&mut self, ticks: u64, bytes: u64) {
        let interval = self.at(ticks);
        interval.change = interval.change.saturating_sub_unsigned(bytes);
    }

    pub(crate) fn create(&mut self, ticks: u64, bytes: u64) {
        let interval = self.at(ticks);
        interval.created = interval.created.saturating_add(bytes);
    }

    /// The interval of a time. Earlier times count for the first one.
    fn at(&mut self, ticks: u64) -> &mut Interval {
        let after = ticks.saturating_sub(*self.start_ticks.get_or_insert(ticks));
        while after >> self.shift >= PARTS as u64 {
            self.shift += 1;
            let pairs = self.intervals.chunks(2).map(|pair| {
                pair.iter().fold(Interval::default(), |sum, one| Interval {
                    change: sum.change.saturating_add(one.change),
                    max: sum.max.max(one.max),
                    created: sum.created.saturating_add(one.created),
                })
            });
            self.intervals = pairs.collect();
        }
        let at = (after >> self.shift) as usize;
        if self.intervals.len() <= at {
            self.intervals.resize(at + 1, Interval::default());
        }
        &mut self.intervals[at]
    }

    /// The ends of the intervals with changes, in the order of time.
    pub(crate) fn moments(&self) -> Vec<Moment> {
        let Some(start_ticks) = self.start_ticks else { return Vec::new() };
        let mut moments = vec![Moment { ticks: start_ticks, ..Moment::default() }];
        let (mut live, mut created) = (0i64, 0u64);
        for (part, interval) in (1u64..).zip(&self.intervals) {
            if *interval == Interval::default() {
                continue;
            }
            live = live.saturating_add(interval.change);
            created = created.saturating_add(interval.created);
            let live_bytes = live.max(0).unsigned_abs();
            moments.push(Moment {
                ticks: start_ticks.saturating_add(part.saturating_mul(1 << self.shift) - 1),
                live_bytes,
                max_bytes: interval.max.max(live_bytes),
                object_bytes: created,
            });
        }
        moments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_has_a_budget_and_loses_nothing() {
        let mut curve = Curve::default();
        for n in 0..100_000u64 {
            curve.give(1_000 + n * 7, 3, if n == 50_000 { 1 << 40 } else { 0 });
            curve.create(1_000 + n * 7, 1);
            if n % 3 == 0 {
                curve.take(1_000 + n * 7, 2);
            }
        }
        let moments = curve.moments();
        assert!((1_000..=PARTS + 1).contains(&moments.len()), "{}", moments.len());
        let last = moments.last().copied().unwrap_or_default();
        assert_eq!((last.live_bytes, last.object_bytes), (300_000 - 2 * 33_334, 100_000));
        assert_eq!(moments.iter().filter(|moment| moment.max_bytes == 1 << 40).count(), 1);
        assert!(moments.is_sorted_by_key(|moment| moment.ticks) && last.ticks >= 701_000 - 7, "{last:?}");
    }

    #[test]
    fn times_may_come_in_any_order_and_be_anything() {
        let mut curve = Curve::default();
        curve.take(u64::MAX, 10);
        curve.give(0, 10, 10);
        curve.give(5, 1, 11);
        assert_eq!(curve.moments().last().map(|moment| moment.live_bytes), Some(1));
    }
}
