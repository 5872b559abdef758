//! Percentiles of calls' durations.

use kperf_profile::{Accuracy, Histogram, rough_text};
pub use kperf_profile::{PERCENTILES, percentiles as of};

/// How far they may be off. A ticker's times are no finer than its ticks, however well they are counted.
pub fn error_text(accuracy: &Accuracy) -> String {
    match accuracy.precision() {
        None => format!("to within {} %", Histogram::ERROR_PERCENT),
        Some(precision) => format!(
            "to within a tick, {}; run --clock precise times every call",
            rough_text(precision.resolution_nanos, precision.resolution_nanos / 10.0)
        ),
    }
}
