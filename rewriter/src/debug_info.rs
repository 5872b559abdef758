//! Reads where code stands in the source, and moves that with the code.

pub(crate) mod codes;
pub(crate) mod dwarf;
pub(crate) mod source;
pub(crate) mod source_map;
