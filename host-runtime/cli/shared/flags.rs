//! Flags of several subcommands.

pub mod filters;
pub mod parents;
pub mod probes;
pub mod sampling;
pub mod spans;
