//! Formats, replays and pages of traces.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "../../../profile/tests/support/mod.rs"]
mod support;

mod damaged;
mod kperf;
mod pauses;
mod replay;
