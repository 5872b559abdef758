//! What is written into a trace is read again, whole or damaged.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;
mod traces;
