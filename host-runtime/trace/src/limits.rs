//! Limits of a reader.

/// How many lanes a reader follows, over all recorders. It leaves out the events of other lanes, and counts them.
pub(crate) const MAX_LANES: usize = 1 << 17;
