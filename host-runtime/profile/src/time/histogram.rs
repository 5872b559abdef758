//! Histograms of durations on a logarithmic scale: percentiles in bounded memory.

use crate::limits::MAX_CACHED;
use crate::tree::observer::{Call, CallObserver};
use kperf_abi::FuncId;
use rustc_hash::FxHashMap;

/// Buckets of each doubling.
const PER_DOUBLING: u64 = 16;

/// Counts of durations. The counts are exact; a duration is known to 1/32 of it (3.2 %), exactly below 16 ticks. At most
/// 976 buckets of eight bytes, and only as many as the longest call needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
    count: u64,
    min_ticks: u64,
    max_ticks: u64,
}

/// Calls that took from `start_ticks` to before `end_ticks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// The least duration.
    pub start_ticks: u64,
    /// One past the greatest duration; `u64::MAX` for the last possible bucket.
    pub end_ticks: u64,
    /// How many there were.
    pub count: u64,
}

impl Histogram {
    /// No percentile is further from the truth than this part of it.
    pub const ERROR: f64 = 1.0 / (2 * PER_DOUBLING) as f64;
    /// [`Histogram::ERROR`] in percent, rounded up, for people.
    pub const ERROR_PERCENT: &'static str = "3.2";

    /// Counts one more.
    #[inline]
    pub fn add(&mut self, ticks: u64) {
        let index = index_of(ticks);
        if index >= self.counts.len() {
            self.counts.resize(index + 1, 0);
        }
        if let Some(count) = self.counts.get_mut(index) {
            *count += 1;
        }
        self.min_ticks = if self.count == 0 { ticks } else { self.min_ticks.min(ticks) };
        self.max_ticks = self.max_ticks.max(ticks);
        self.count += 1;
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The duration that `fraction` of the calls did not exceed (by the nearest rank: 0.5 is the median), in ticks, to
    /// within [`Histogram::ERROR`]. 0 and 1 are the shortest and the longest call, exactly; without calls it is 0.
    pub fn percentile(&self, fraction: f64) -> u64 {
        // A fraction such as 0.29 is a little more than it says: that must not be another rank.
        let rank = (fraction * self.count as f64 - 1e-6).ceil().clamp(1.0, self.count.max(1) as f64) as u64;
        if rank >= self.count {
            return self.max_ticks;
        }
        if rank == 1 {
            return self.min_ticks;
        }
        let mut seen = 0;
        for bucket in self.buckets() {
            seen += bucket.count;
            if seen >= rank {
                let middle = bucket.start_ticks + (bucket.end_ticks - 1 - bucket.start_ticks) / 2;
                return middle.clamp(self.min_ticks, self.max_ticks);
            }
        }
        self.max_ticks
    }

    /// The buckets that have calls, the shortest first.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        let bucket = |(index, &count): (usize, &u64)| Bucket {
            start_ticks: start_of(index),
            end_ticks: start_of(index + 1),
            count,
        };
        self.counts.iter().enumerate().filter(|(_, count)| **count > 0).map(bucket)
    }

    /// The calls in at most `most` rows, without gaps between the first and the last. All rows are equally wide on the scale, and
    /// as narrow as `most` allows.
    pub fn rows(&self, max: usize) -> Vec<Bucket> {
        let (first, last) = (index_of(self.min_ticks), index_of(self.max_ticks));
        let mut step = 1;
        while last / step - first / step >= max.max(1) {
            step *= 2;
        }
        (first / step..=last / step)
            .map(|row| {
                let indices = row * step..(row + 1) * step;
                let (start_ticks, end_ticks) = (start_of(indices.start), start_of(indices.end));
                let count = indices.filter_map(|index| self.counts.get(index)).sum();
                Bucket { start_ticks, end_ticks, count }
            })
            .collect()
    }
}

/// Which bucket a duration falls into.
#[inline]
fn index_of(ticks: u64) -> usize {
    if ticks < PER_DOUBLING {
        return ticks as usize;
    }
    let doublings = u64::from(ticks.ilog2() - PER_DOUBLING.ilog2());
    (doublings * PER_DOUBLING + (ticks >> doublings)) as usize
}

/// The least duration of a bucket; `u64::MAX` after the last.
fn start_of(index: usize) -> u64 {
    let index = index as u64;
    let doublings = (index / PER_DOUBLING).saturating_sub(1) as u32;
    let mantissa = index - u64::from(doublings) * PER_DOUBLING;
    mantissa.checked_shl(doublings).filter(|start| start >> doublings == mantissa).unwrap_or(u64::MAX)
}

/// A histogram per function.
#[derive(Clone, Debug, Default)]
pub struct Histograms {
    by_func: FxHashMap<FuncId, Histogram>,
    /// How many buckets these have.
    buckets: usize,
    /// Whether they are as many as are kept: the functions that come then have none.
    full: bool,
}

/// How many buckets all histograms have, before no function gets one any more: 100 MB.
const MAX_BUCKETS: usize = 12 << 20;

impl Histograms {
    /// The histogram of one function; `None` if it was never called, or is over the limit of functions.
    pub fn get(&self, func: FuncId) -> Option<&Histogram> {
        self.by_func.get(&func)
    }
}

impl CallObserver for Histograms {
    #[inline]
    fn call(&mut self, call: &Call) {
        if self.full && !self.by_func.contains_key(&call.func) {
            return;
        }
        let histogram = self.by_func.entry(call.func).or_default();
        let before = histogram.counts.len();
        histogram.add(call.ticks());
        self.buckets += histogram.counts.len() - before;
        self.full = self.buckets > MAX_BUCKETS || self.by_func.len() >= MAX_CACHED;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other_and_hold_what_belongs_to_them() {
        for index in 0..976 {
            assert!(start_of(index) < start_of(index + 1), "{index}");
            assert_eq!((index_of(start_of(index)), index_of(start_of(index + 1) - 1)), (index, index));
        }
        assert_eq!((index_of(u64::MAX), start_of(976)), (975, u64::MAX));
    }

    #[test]
    fn percentiles_are_as_near_as_they_say() {
        let mut durations: Vec<u64> = (0..20_000u64).map(|n| (n * n * 7919) % 1_000_003).collect();
        let mut histogram = Histogram::default();
        durations.iter().for_each(|&ticks| histogram.add(ticks));
        durations.sort_unstable();
        for percent in 0..=100 {
            let rank = (percent * durations.len()).div_ceil(100).max(1);
            let (exact, told) = (durations[rank - 1], histogram.percentile(percent as f64 / 100.0));
            let off = told.abs_diff(exact) as f64;
            assert!(off <= exact as f64 * Histogram::ERROR, "{percent} %: {told} instead of {exact}");
        }
        assert_eq!(histogram.percentile(1.0), durations[durations.len() - 1]);
        assert_eq!(Histogram::default().percentile(0.5), 0);
    }

    #[test]
    fn rows_have_every_call_and_no_gaps() {
        let mut histogram = Histogram::default();
        [3, 3, 900, 1_000_000].into_iter().for_each(|ticks| histogram.add(ticks));
        for max in [1, 2, 7, 20, 1_000] {
            let rows = histogram.rows(max);
            assert!(rows.len() <= max, "{max}: {rows:?}");
            assert_eq!(rows.iter().map(|row| row.count).sum::<u64>(), 4);
            assert!(rows.windows(2).all(|pair| pair[0].end_ticks == pair[1].start_ticks));
            assert!(rows[0].count > 0 && rows[rows.len() - 1].count > 0);
        }
    }
}
