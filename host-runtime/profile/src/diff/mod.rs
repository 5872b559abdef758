//! Compares sets of runs.

pub(crate) mod columns;
pub(crate) mod compare;
pub(crate) mod welch;
