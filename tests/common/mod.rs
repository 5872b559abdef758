//! What tests share.

pub(crate) mod burners;
pub(crate) mod command;
pub(crate) mod effort;

/// Whether all warnings are of something that stood still, or hints of a busy machine, as may come on one. Then nothing is missing.
pub(crate) fn only_stalls(warnings: &str) -> bool {
    let stall = |line: &str| {
        let told = ["the clock stood still", "waited for the trace", "hint: the machine was busy"];
        told.iter().any(|text| line.contains(text))
    };
    warnings.lines().all(stall)
}
