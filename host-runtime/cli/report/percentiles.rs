//! Percentiles of the calls' lengths.

pub use kperf_profile::export::report::{PERCENTILES, percentiles as of};
