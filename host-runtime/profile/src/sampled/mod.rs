//! Sampled profiles: windows, and the error of their times.

pub(crate) mod accuracy;
pub(crate) mod places;
pub(crate) mod precision;
pub(crate) mod runs;
pub(crate) mod sampling;
pub(crate) mod share;
pub(crate) mod windows;
