//! Adds the run of a process to a dataset, by the same code as `kperf-wasm collect`, as one module for `wasm32-unknown-unknown`. It is for
//! node.
//!
//! The module reads the trace and the dataset, and writes files, by functions that it imports; `exports.rs` says which.
//! `scripts/js-core` builds the module that the npm package has.

mod add;
#[cfg(target_arch = "wasm32")]
mod exports;
mod host;

pub use add::{Ask, Told, add};
pub use host::{Host, HostFiles, Question};
