//! What tests of the command line share.

/// Whether all that is warned of is that something stood still, as it may on a busy machine: nothing is missing.
pub(crate) fn only_stalls(warnings: &str) -> bool {
    let stall = |line: &str| line.contains("the clock stood still") || line.contains("waited for the trace");
    warnings.lines().all(stall)
}
