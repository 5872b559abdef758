//! Profiles that were sampled: windows, and what samples are worth.

pub(crate) mod places;
pub(crate) mod precision;
pub(crate) mod sampling;
pub(crate) mod share;
pub(crate) mod windows;
