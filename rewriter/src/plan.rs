//! Chooses the functions that get probes, and finds calls, stacks and allocators for the pass.

pub(crate) mod allocators;
pub(crate) mod calls;
pub(crate) mod choose;
pub(crate) mod growth;
pub(crate) mod leaf;
pub(crate) mod reach;
pub(crate) mod regions;
pub(crate) mod stacks;
pub(crate) mod waits;
