//! Durations of calls, as counts on a logarithmic scale that SQL engines can add up.

use kperf_profile::NodeId;

/// Buckets of each doubling.
pub const BUCKETS_PER_DOUBLING: u64 = 64;

/// The middle of a bucket is no further than this part of it from any duration in the bucket: 0.8 %.
pub const ERROR: f64 = 1.0 / (2 * BUCKETS_PER_DOUBLING) as f64;

/// The bucket of a duration. Below 128 each duration has its own.
#[inline]
pub fn bucket_of(nanos: u64) -> i32 {
    if nanos < BUCKETS_PER_DOUBLING {
        return nanos as i32;
    }
    let doublings = u64::from(nanos.ilog2() - BUCKETS_PER_DOUBLING.ilog2());
    (doublings * BUCKETS_PER_DOUBLING + (nanos >> doublings)) as i32
}

/// The least duration of a bucket; 0 for one that doesn't exist.
pub fn bucket_start(bucket: i32) -> u64 {
    let bucket = u64::try_from(bucket).unwrap_or(0);
    let doublings = (bucket / BUCKETS_PER_DOUBLING).saturating_sub(1);
    let mantissa = bucket - doublings * BUCKETS_PER_DOUBLING;
    mantissa.checked_shl(doublings as u32).unwrap_or(0)
}

/// The counts of one path.
#[derive(Clone, Debug, Default)]
struct Counts {
    /// The bucket of the first count.
    first: usize,
    counts: Vec<u64>,
}

/// The counts of each path, by the node of the tree that grows.
#[derive(Clone, Debug, Default)]
pub(super) struct PathBuckets {
    by_node: Vec<Counts>,
    /// How many counts all have.
    held: usize,
    /// Calls that have no count, because there are too many.
    pub(super) left_out: u64,
}

/// How many counts are kept: 100 MB.
const MAX_COUNTS: usize = 12 << 20;

impl PathBuckets {
    #[inline]
    pub(super) fn add(&mut self, node: NodeId, nanos: u64) {
        let (index, bucket) = (node.index(), bucket_of(nanos) as usize);
        if index >= self.by_node.len() {
            self.by_node.resize(index + 1, Counts::default());
        }
        let Some(held) = self.by_node.get_mut(index) else { return };
        if let Some(count) = bucket.checked_sub(held.first).and_then(|at| held.counts.get_mut(at)) {
            *count += 1;
            return;
        }
        // Room for the bucket, below or after the known ones.
        let (first, end) = match held.counts.len() {
            0 => (bucket, bucket + 1),
            length => (held.first.min(bucket), (held.first + length).max(bucket + 1)),
        };
        let more = end - first - held.counts.len();
        if self.held + more > MAX_COUNTS {
            self.left_out += 1;
            return;
        }
        self.held += more;
        let mut counts = vec![0; end - first];
        let before = held.first.saturating_sub(first);
        for (count, old) in counts.iter_mut().skip(before).zip(&held.counts) {
            *count = *old;
        }
        if let Some(count) = counts.get_mut(bucket - first) {
            *count += 1;
        }
        *held = Counts { first, counts };
    }

    /// The buckets of a node that have calls, and how many.
    pub(super) fn of(&self, node: NodeId) -> impl Iterator<Item = (i32, u64)> + '_ {
        let held = self.by_node.get(node.index());
        let counts = held.into_iter().flat_map(|held| held.counts.iter().zip(held.first..));
        counts.filter(|(count, _)| **count > 0).map(|(count, bucket)| (bucket as i32, *count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other_and_are_as_narrow_as_is_said() {
        for bucket in 0..3775 {
            let (start, next) = (bucket_start(bucket), bucket_start(bucket + 1));
            assert!(start < next, "{bucket}");
            assert_eq!((bucket_of(start), bucket_of(next - 1)), (bucket, bucket));
            let middle = start + (next - 1 - start) / 2;
            let max = (next - 1 - middle).max(middle - start);
            assert!(max as f64 <= ERROR * start as f64, "{bucket}");
        }
        assert_eq!(bucket_of(u64::MAX), 3775);
    }

    #[test]
    fn counts_grow_both_ways() {
        let mut buckets = PathBuckets::default();
        for nanos in [100, 5, 100, 1_000_000, 0, 1_000_000] {
            buckets.add(NodeId(3), nanos);
        }
        let found: Vec<_> = buckets.of(NodeId(3)).collect();
        assert_eq!(found, [(0, 1), (5, 1), (100, 2), (bucket_of(1_000_000), 2)]);
        assert_eq!(buckets.of(NodeId(9)).count(), 0);
    }
}
