//! The rewriter for JavaScript: one small module for `wasm32-unknown-unknown`, which puts probes into modules when a program
//! loads them.
//!
//! The exports take and give addresses and lengths; `exports.rs` says which. `scripts/js-core` builds the module that the
//! npm package has.

mod exports;
mod options;
mod rewrite;

pub use options::Options;
pub use rewrite::{Outcome, Summary, rewrite};
