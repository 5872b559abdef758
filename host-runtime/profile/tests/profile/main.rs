//! What becomes of a trace in reports: trees, tables, timelines, graphs.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod callgraph;
mod flat;
mod health;
mod sampled;
mod sums;
mod timeline;
mod tree;
