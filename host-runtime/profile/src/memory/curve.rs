//! How many bytes there were over time.

/// Into how many parts the time is cut, at most.
const PARTS: usize = 2048;

/// What came and went in each of equally long stretches of time. The events of several threads come in any order: so changes are kept,
/// and summed up in the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stretch {
    /// Bytes of blocks that came, less those that went.
    change: i64,
    /// How many bytes there were at most, in the order of the events.
    most: u64,
    /// Bytes of collected objects that came.
    created: u64,
}

/// A stretch after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Curve {
    /// When the first stretch begins, in ticks.
    start_ticks: Option<u64>,
    /// How many ticks a stretch has, as a power of two.
    shift: u32,
    stretches: Vec<Stretch>,
}

/// The bytes in a stretch of time, and at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// When that is, in ticks.
    pub ticks: u64,
    /// Bytes of blocks that are there.
    pub live_bytes: u64,
    /// How many of these there were at most since the moment before.
    pub most_bytes: u64,
    /// Bytes of collected objects that were made by then: nobody tells when they are gone.
    pub object_bytes: u64,
}

impl Curve {
    /// `now`: how many bytes there are with these.
    pub(crate) fn give(&mut self, ticks: u64, bytes: u64, now: u64) {
        let stretch = self.at(ticks);
        stretch.change = stretch.change.saturating_add_unsigned(bytes);
        stretch.most = stretch.most.max(now);
    }

    pub(crate) fn take(&mut self, ticks: u64, bytes: u64) {
        let stretch = self.at(ticks);
        stretch.change = stretch.change.saturating_sub_unsigned(bytes);
    }

    pub(crate) fn create(&mut self, ticks: u64, bytes: u64) {
        let stretch = self.at(ticks);
        stretch.created = stretch.created.saturating_add(bytes);
    }

    /// The stretch with this time; what is before the first one counts for that.
    fn at(&mut self, ticks: u64) -> &mut Stretch {
        let behind = ticks.saturating_sub(*self.start_ticks.get_or_insert(ticks));
        while behind >> self.shift >= PARTS as u64 {
            self.shift += 1;
            let pairs = self.stretches.chunks(2).map(|pair| {
                pair.iter().fold(Stretch::default(), |sum, one| Stretch {
                    change: sum.change.saturating_add(one.change),
                    most: sum.most.max(one.most),
                    created: sum.created.saturating_add(one.created),
                })
            });
            self.stretches = pairs.collect();
        }
        let at = (behind >> self.shift) as usize;
        if self.stretches.len() <= at {
            self.stretches.resize(at + 1, Stretch::default());
        }
        &mut self.stretches[at]
    }

    /// The moments at which something had changed, in the order of time.
    pub(crate) fn moments(&self) -> Vec<Moment> {
        let Some(start_ticks) = self.start_ticks else { return Vec::new() };
        let mut moments = vec![Moment { ticks: start_ticks, ..Moment::default() }];
        let (mut live, mut created) = (0i64, 0u64);
        for (part, stretch) in (1u64..).zip(&self.stretches) {
            if *stretch == Stretch::default() {
                continue;
            }
            live = live.saturating_add(stretch.change);
            created = created.saturating_add(stretch.created);
            let live_bytes = live.max(0).unsigned_abs();
            moments.push(Moment {
                ticks: start_ticks.saturating_add(part.saturating_mul(1 << self.shift) - 1),
                live_bytes,
                most_bytes: stretch.most.max(live_bytes),
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
        assert_eq!(moments.iter().filter(|moment| moment.most_bytes == 1 << 40).count(), 1);
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
