//! Writes the module with its probes.

pub(crate) mod body;
pub(crate) mod context;
pub(crate) mod custom;
pub(crate) mod events;
pub(crate) mod form;
pub(crate) mod hints;
pub(crate) mod inside;
pub(crate) mod limits;
pub(crate) mod name_section;
pub(crate) mod parts;
pub(crate) mod pass;
pub(crate) mod probe;
pub(crate) mod section;
pub(crate) mod template;
pub(crate) mod try_table;
pub(crate) mod types;
pub(crate) mod write;
