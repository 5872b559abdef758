//! When calls happened, and how long they took.

pub(crate) mod histogram;
pub(crate) mod slices;
pub(crate) mod timeline;
