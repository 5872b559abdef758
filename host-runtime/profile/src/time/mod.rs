//! Times of calls: timeline, slices, histograms.

pub(crate) mod histogram;
pub(crate) mod slices;
pub(crate) mod timeline;
