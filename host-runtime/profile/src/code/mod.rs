//! Places in the source: lines, calls, and inlined functions.

pub(crate) mod inlined;
pub(crate) mod lines;
pub(crate) mod ways;
