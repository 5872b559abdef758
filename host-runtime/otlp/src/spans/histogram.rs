//! Histograms of functions' durations, for metrics.

use kperf_trace::Header;

/// The histograms of all functions, by their index.
#[derive(Debug)]
pub(crate) struct Gathered {
    functions: Vec<Histogram>,
    ticks_per_second: f64,
    /// For finding buckets, where the last bit doesn't matter.
    seconds_per_tick: f64,
}

/// The durations of one function.
#[derive(Clone, Debug, Default)]
pub(crate) struct Histogram {
    /// All calls.
    pub(crate) count: u64,
    /// Calls of duration 0 by the trace's clock.
    pub(crate) zeros: u64,
    /// In ticks.
    pub(crate) sum: u64,
    pub(crate) min: u64,
    pub(crate) max: u64,
    /// The bucket that `counts` begins with.
    pub(crate) first: i32,
    /// How many durations fell into each bucket.
    pub(crate) counts: Vec<u64>,
}

/// How fine the buckets are: bucket `n` has the durations above `BASE^n` seconds up to `BASE^(n+1)`, and the base is
/// 2^(2^-SCALE), 1.09 here.
pub(crate) const SCALE: i32 = 3;
const MAX_BUCKETS: usize = 160;

impl Gathered {
    pub(crate) fn new(header: &Header) -> Gathered {
        let ticks_per_second = header.clock.ticks_per_second;
        Gathered { functions: Vec::new(), ticks_per_second, seconds_per_tick: 1.0 / ticks_per_second }
    }

    /// A call of a function has ended.
    #[inline]
    pub(crate) fn add(&mut self, function: u32, ticks: u64) {
        let index = function as usize;
        if index >= self.functions.len() {
            self.functions.resize(index + 1, Histogram::default());
        }
        if let Some(histogram) = self.functions.get_mut(index) {
            histogram.add(ticks, self.seconds_per_tick);
        }
    }

    /// The histograms, by index.
    pub(crate) fn functions(&self) -> &[Histogram] {
        &self.functions
    }

    /// So many ticks in seconds.
    pub(crate) fn seconds(&self, ticks: u64) -> f64 {
        ticks as f64 / self.ticks_per_second
    }
}

impl Histogram {
    #[inline]
    fn add(&mut self, ticks: u64, seconds_per_tick: f64) {
        self.count += 1;
        self.sum = self.sum.saturating_add(ticks);
        self.max = self.max.max(ticks);
        if self.count == 1 || ticks < self.min {
            self.min = ticks;
        }
        if ticks == 0 {
            self.zeros += 1;
            return;
        }
        let bucket = bucket(ticks as f64 * seconds_per_tick);
        let at = bucket.wrapping_sub(self.first) as usize;
        match self.counts.get_mut(at) {
            Some(count) => *count += 1,
            None => self.grow(bucket),
        }
    }

    /// The buckets of a data point: scale, first bucket, counts. Neighbours are merged until there are at most as many as
    /// OpenTelemetry's own SDKs make.
    pub(crate) fn buckets(&self) -> (i32, i32, Vec<u64>) {
        let (mut scale, mut first, mut counts) = (SCALE, self.first, self.counts.clone());
        while counts.len() > MAX_BUCKETS {
            let half = first >> 1;
            let mut joined = vec![0; counts.len() / 2 + 1];
            for (bucket, count) in (first..).zip(&counts) {
                if let Some(sum) = joined.get_mut(((bucket >> 1) - half) as usize) {
                    *sum += count;
                }
            }
            while joined.last() == Some(&0) {
                joined.pop();
            }
            (scale, first, counts) = (scale - 1, half, joined);
        }
        (scale, first, counts)
    }

    #[cold]
    fn grow(&mut self, bucket: i32) {
        if self.counts.is_empty() {
            self.first = bucket;
        }
        if bucket < self.first {
            let more = (self.first - bucket) as usize;
            self.counts.splice(0..0, std::iter::repeat_n(0, more));
            self.first = bucket;
        }
        let at = (bucket - self.first) as usize;
        if at >= self.counts.len() {
            self.counts.resize(at + 1, 0);
        }
        if let Some(count) = self.counts.get_mut(at) {
            *count += 1;
        }
    }
}

/// The bucket of a duration in seconds, which is a positive normal number: ticks are whole, and rates are limited.
#[inline]
fn bucket(seconds: f64) -> i32 {
    /// Mantissas of 2^(n/8), for n from 1: the number of them that a mantissa exceeds is its bucket within the octave.
    const STEPS: [u64; 7] = [
        0x172b83c7d517b,
        0x306fe0a31b715,
        0x4bfdad5362a27,
        0x6a09e667f3bcd,
        0x8ace5422aa0db,
        0xae89f995ad3ad,
        0xd5818dcfba487,
    ];
    let bits = seconds.to_bits();
    let exponent = (bits >> 52) as i32 - 1023;
    let mantissa = bits & ((1 << 52) - 1);
    let above = STEPS.iter().filter(|&&step| mantissa > step).count() as i32;
    // A bucket's lower bound is not in it.
    (exponent << SCALE) + above - i32::from(mantissa == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_have_their_upper_bounds_and_not_their_lower_ones() {
        let base = 2f64.powf(1.0 / 8.0);
        let mut seconds = 1.1e-10f64;
        while seconds < 1e9 {
            let by_logarithm = (seconds.ln() / base.ln()).ceil() as i32 - 1;
            assert_eq!(bucket(seconds), by_logarithm, "{seconds}");
            seconds *= 1.0123;
        }
        for (seconds, expected) in [(1.0, -1), (2.0, 7), (0.5, -9), (1.000_000_1, 0), (1e-9, -240)] {
            assert_eq!(bucket(seconds), expected, "{seconds}");
        }
    }

    #[test]
    fn counts_grow_on_both_sides() {
        let mut histogram = Histogram::default();
        for ticks in [1000, 0, 2000, 1, 1000, 1 << 40] {
            histogram.add(ticks, 1e-9);
        }
        assert_eq!((histogram.count, histogram.zeros, histogram.min, histogram.max), (6, 1, 0, 1 << 40));
        assert_eq!(histogram.counts.iter().sum::<u64>(), 5);
        assert_eq!(histogram.counts[(bucket(1e-6) - histogram.first) as usize], 2);
        assert_eq!(histogram.first, bucket(1e-9));
    }

    #[test]
    fn too_many_buckets_are_joined() {
        let mut histogram = Histogram::default();
        (0..40).for_each(|n| histogram.add(1 << n, 1e-9));
        assert!(histogram.counts.len() > 300);
        let (scale, first, counts) = histogram.buckets();
        assert_eq!((scale, counts.iter().sum::<u64>()), (2, 40));
        let base = 2f64.powf(2f64.powi(-scale));
        let (lowest, highest) = (base.powi(first), base.powi(first + counts.len() as i32));
        assert!(lowest < 1e-9 && 1e-9 <= lowest * base);
        let longest = (1u64 << 39) as f64 * 1e-9;
        assert!(highest >= longest && highest / base < longest);
    }
}
