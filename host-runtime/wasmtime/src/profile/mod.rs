//! Profiles: exact counts of calls, and samples of the calls that are open.

mod counts;
pub(crate) mod globals;
mod guest_thread;
mod host_calls;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod native;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
#[path = "no_native.rs"]
mod native;
mod open_calls;
mod profiled;
mod sampler;
pub(crate) mod sampling;
mod shadow;
mod spent;
mod split;
mod stack;
mod tree;
mod work;

pub(crate) use counts::Counts;
pub(crate) use host_calls::HostCalls;
pub(crate) use native::{Beat, BeatTotal, Code, Native, Pace, Target, Thread, prepare, this_thread};
pub(crate) use profiled::Profiled;
pub(crate) use sampler::Sampler;
pub(crate) use shadow::Shadow;
pub(crate) use stack::{Stack, no_timer};
