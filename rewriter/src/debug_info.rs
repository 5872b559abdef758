//! Reads debug information, and moves it with the code.

pub(crate) mod codes;
pub(crate) mod dwarf;
pub(crate) mod source;
pub(crate) mod source_map;
