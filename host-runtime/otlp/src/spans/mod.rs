//! Calls as spans.

pub(crate) mod account;
pub(crate) mod batch;
pub(crate) mod counted;
pub(crate) mod encoder;
mod ending;
pub(crate) mod functions;
pub(crate) mod histogram;
pub(crate) mod lanes;
pub(crate) mod reading;
mod times;
