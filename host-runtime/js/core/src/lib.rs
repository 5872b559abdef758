//! What comes after recording, for JavaScript: the same call tree, report and OTLP requests that `kperf-wasm` makes of a
//! trace, and the same columns of a block, as one small module for `wasm32-unknown-unknown`.
//!
//! An instance reads one trace, a piece at a time, also while it is recorded. The exports take and give addresses and
//! lengths; `exports.rs` says which. `scripts/js-core` builds the module that the npm package has.

mod core;
mod exports;
mod feed;
mod options;
mod tree;

pub use crate::core::{Core, Step};
pub use crate::options::{Options, SpanFields};
