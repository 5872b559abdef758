//! Allocated and freed memory.

pub(crate) mod block;
pub(crate) mod curve;
pub(crate) mod cut;
pub(crate) mod figures;
pub(crate) mod heap;
pub(crate) mod modules;
pub(crate) mod order;
pub(crate) mod problems;
pub(crate) mod warnings;
