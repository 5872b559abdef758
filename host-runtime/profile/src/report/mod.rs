//! The report as JSON, and hints about it.

pub(crate) mod cell;
pub(crate) mod clock;
pub(crate) mod hints;
pub(crate) mod json;
