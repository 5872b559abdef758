//! Finds the name of each function: in the module, and in files that it was stripped of.

pub(crate) mod debug_companion;
pub(crate) mod demangle;
pub(crate) mod func_names;
pub(crate) mod map;
pub(crate) mod mismatch;
pub(crate) mod section;
pub(crate) mod symbol_file;
