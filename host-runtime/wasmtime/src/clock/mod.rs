//! The time: its clocks, and the thread that writes it where recorders load it.

pub(crate) mod cell;
#[cfg(target_os = "linux")]
pub(crate) mod delay;
#[cfg(target_os = "linux")]
#[cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, reason = "native stacks are sampled on x86-64 only")
)]
pub(crate) mod perf;
pub(crate) mod preempted;
#[cfg(target_os = "linux")]
pub(crate) mod processor_time;
pub(crate) mod processors;
pub(crate) mod source;
pub(crate) mod ticker;
pub(crate) mod unplaced;
pub(crate) mod waits;
