//! How many bytes there were over time.

/// Into how many parts the time is cut, at most.
const PARTS: usize = 2048;

/// What came and went in each of equally long stretches of time. The events of several threads come in any order: so changes are kept,
/// and summed up in the end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Curve {
    /// When the first stretch begins, in ticks.
    start_ticks: Option<u64>,
    /// How many ticks a stretch has, as a power of two.
    shift: u32,
    /// By stretch: bytes of blocks that came, less those that went; bytes of collected objects that came.
    changes: Vec<(i64, u64)>,
}

/// The bytes at the end of a stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// When that is, in ticks.
    pub ticks: u64,
    /// Bytes of blocks that are there.
    pub live_bytes: u64,
    /// Bytes of collected objects that were made by then: nobody tells when they are gone.
    pub object_bytes: u64,
}

impl Curve {
    pub(crate) fn give(&mut self, ticks: u64, bytes: u64) {
        let (change, _) = self.at(ticks);
        *change = change.saturating_add_unsigned(bytes);
    }

    pub(crate) fn take(&mut self, ticks: u64, bytes: u64) {
        let (change, _) = self.at(ticks);
        *change = change.saturating_sub_unsigned(bytes);
    }

    pub(crate) fn create(&mut self, ticks: u64, bytes: u64) {
        let (_, created) = self.at(ticks);
        *created = created.saturating_add(bytes);
    }

    /// The stretch with this time; what is before the first one counts for that.
    fn at(&mut self, ticks: u64) -> &mut (i64, u64) {
        let behind = ticks.saturating_sub(*self.start_ticks.get_or_insert(ticks));
        while behind >> self.shift >= PARTS as u64 {
            self.shift += 1;
            let pairs = self.changes.chunks(2).map(|pair| {
                pair.iter()
                    .fold((0i64, 0u64), |sum, one| (sum.0.saturating_add(one.0), sum.1.saturating_add(one.1)))
            });
            self.changes = pairs.collect();
        }
        let at = (behind >> self.shift) as usize;
        if self.changes.len() <= at {
            self.changes.resize(at + 1, (0, 0));
        }
        &mut self.changes[at]
    }

    /// The moments at which something had changed, in the order of time.
    pub(crate) fn moments(&self) -> Vec<Moment> {
        let Some(start_ticks) = self.start_ticks else { return Vec::new() };
        let mut moments = vec![Moment { ticks: start_ticks, ..Moment::default() }];
        let (mut live, mut created) = (0i64, 0u64);
        for (part, &(change, objects)) in (1u64..).zip(&self.changes) {
            if (change, objects) == (0, 0) {
                continue;
            }
            live = live.saturating_add(change);
            created = created.saturating_add(objects);
            moments.push(Moment {
                ticks: start_ticks.saturating_add(part.saturating_mul(1 << self.shift) - 1),
                live_bytes: live.max(0).unsigned_abs(),
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
            curve.give(1_000 + n * 7, 3);
            curve.create(1_000 + n * 7, 1);
            if n % 3 == 0 {
                curve.take(1_000 + n * 7, 2);
            }
        }
        let moments = curve.moments();
        assert!((1_000..=PARTS + 1).contains(&moments.len()), "{}", moments.len());
        let last = moments.last().copied().unwrap_or_default();
        assert_eq!((last.live_bytes, last.object_bytes), (300_000 - 2 * 33_334, 100_000));
        assert!(moments.is_sorted_by_key(|moment| moment.ticks) && last.ticks >= 701_000 - 7, "{last:?}");
    }

    #[test]
    fn times_may_come_in_any_order_and_be_anything() {
        let mut curve = Curve::default();
        curve.take(u64::MAX, 10);
        curve.give(0, 10);
        curve.give(5, 1);
        assert_eq!(curve.moments().last().map(|moment| moment.live_bytes), Some(1));
    }
}
