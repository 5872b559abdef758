//! The call tree, the report and the OTLP requests of a trace, and the columns of a block, for JavaScript: one small module
//! for `wasm32-unknown-unknown`, which `scripts/js-core` builds for the npm package.
//!
//! An instance reads one trace in pieces, also while it is recorded. `exports.rs` documents the exports.

mod core;
mod exports;
mod feed;
mod options;
mod tree;

pub use crate::core::{Core, Step};
pub use crate::options::{Options, SpanFields};
