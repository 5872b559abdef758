//! Sending: to servers that fail, and with TLS.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../server/mod.rs"]
mod server;

mod faults;
mod tls;
