//! The recorder: its builder, its handle, its calibration.

pub(crate) mod builder;
#[cfg(feature = "compiler")]
pub(crate) mod calibrate;
pub(crate) mod handle;
mod perf_map;
pub(crate) mod pool;
pub(crate) mod symbols;
