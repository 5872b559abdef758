//! Reports of traces: trees, tables, timelines, graphs, limits.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod callgraph;
mod flat;
mod health;
mod limits;
mod sampled;
mod sums;
mod timeline;
mod tree;
