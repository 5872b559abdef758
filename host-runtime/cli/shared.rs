//! What several subcommands use.

pub mod allocations;
pub mod delivery;
pub mod flags;
pub mod hints;
pub mod input;
pub mod output;
pub mod picture;
pub mod plan_file;
pub mod product;
pub mod records;
pub mod signals;
pub mod symbols;
pub mod table;
pub mod traces;
