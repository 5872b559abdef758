//! The time: its clocks, and the thread that writes it where recorders load it.

pub(crate) mod cell;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) mod perf;
pub(crate) mod preempted;
pub(crate) mod processors;
pub(crate) mod source;
pub(crate) mod ticker;
