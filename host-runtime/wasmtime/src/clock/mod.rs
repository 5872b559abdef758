//! The time: its clocks, and the thread that writes it where recorders load it.

pub(crate) mod cell;
pub(crate) mod preempted;
pub(crate) mod processors;
pub(crate) mod source;
pub(crate) mod ticker;
