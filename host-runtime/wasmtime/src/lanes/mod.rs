//! A lane: one recorder's memory, its blocks, and what the host does to it.

pub(crate) mod core;
pub(crate) mod fiber;
mod hold;
pub(crate) mod lane;
pub(crate) mod memory;
pub(crate) mod reason;
pub(crate) mod record;
pub(crate) mod state;
