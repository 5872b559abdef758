//! All tests of the crate in one program: what a trace becomes, and sending it.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;
#[cfg(feature = "exporter")]
mod exporter;
mod messages;
#[cfg(feature = "exporter")]
mod server;
