//! Percentiles of the calls' lengths.

use kperf_abi::FuncId;
use kperf_profile::{Histograms, Profile};

/// Those that are told: what they are called, and which part of the calls they are not exceeded by.
pub const PERCENTILES: [(&str, f64); 3] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)];

/// A function's percentiles in nanoseconds, in the order of [`PERCENTILES`].
pub fn of(profile: &Profile, histograms: &Histograms, func: FuncId) -> [u64; PERCENTILES.len()] {
    let of = |fraction| histograms.get(func).map_or(0, |histogram| histogram.percentile(fraction));
    PERCENTILES.map(|(_, fraction)| profile.header.nanos(of(fraction)))
}
