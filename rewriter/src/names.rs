//! Finds the name of each function.

pub(crate) mod demangle;
pub(crate) mod func_names;
pub(crate) mod map;
pub(crate) mod section;
