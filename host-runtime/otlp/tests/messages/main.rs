//! What becomes of a trace in OTLP: spans, links, metrics, profiles, read back by us and by others.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod links;
mod metrics;
mod profiles;
mod properties;
mod python;
mod spans;
