//! Limits that engines set for a function.

/// Parameters and locals together.
pub(crate) const MAX_LOCALS: u64 = 50_000;
/// Bytes of a body.
pub(crate) const MAX_SIZE: usize = 7_654_321;
