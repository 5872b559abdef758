//! Reads a core module.

pub(crate) mod boundary;
pub(crate) mod crossings;
pub(crate) mod engines;
pub(crate) mod functions;
pub(crate) mod indices;
pub(crate) mod info;
pub(crate) mod moves;
pub(crate) mod named_types;
pub(crate) mod operators;
pub(crate) mod parse;
