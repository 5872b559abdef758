//! What tests of the command line share.

/// Whether all warnings are of something that stood still, as may happen on a busy machine. Then nothing is missing.
pub(crate) fn only_stalls(warnings: &str) -> bool {
    let stall = |line: &str| line.contains("the clock stood still") || line.contains("waited for the trace");
    warnings.lines().all(stall)
}
