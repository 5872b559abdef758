//! What becomes of a trace in reports: trees, tables, timelines, graphs.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod callgraph;
mod flat;
mod health;
mod kperf;
mod pauses;
mod replay;
mod sampled;
mod sums;
mod timeline;
mod tree;
