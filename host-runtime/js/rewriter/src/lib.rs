//! The rewriter for JavaScript: one module for `wasm32-unknown-unknown`, which `scripts/js-core` builds for the npm package.
//! It puts probes into modules when a program loads them. `exports.rs` documents the exports.

mod error;
mod exports;
mod options;
mod rewrite;

pub use error::Error;
pub use options::Options;
pub use rewrite::{Outcome, Summary, rewrite};
