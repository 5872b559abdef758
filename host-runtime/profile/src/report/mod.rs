//! The report as JSON and as a table, and hints about it.

pub(crate) mod cell;
pub(crate) mod clock;
pub(crate) mod head;
pub(crate) mod hints;
pub(crate) mod json;
pub(crate) mod table;
