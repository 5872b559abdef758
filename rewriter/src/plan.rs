//! Decides what gets probes, and what the pass must know of calls, stacks and allocators.

pub(crate) mod allocators;
pub(crate) mod calls;
pub(crate) mod choose;
pub(crate) mod filter;
pub(crate) mod growth;
pub(crate) mod leaf;
pub(crate) mod reach;
pub(crate) mod regions;
pub(crate) mod stacks;
