//! What is written into a trace is read again, whole or damaged.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod damage;
mod format;
mod interrupted;
mod loss;
mod roundtrip;
mod windows;
