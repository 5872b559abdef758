//! Reads debug information, also of files that a module was stripped of, and moves it with the code.

pub(crate) mod codes;
pub(crate) mod debug_companion;
pub(crate) mod dwarf;
pub(crate) mod source;
pub(crate) mod source_map;
pub(crate) mod symbol_file;
