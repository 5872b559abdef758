//! The tests of the crate in one program, since each program links wasmtime anew. Those that need a quiet process are in
//! `quiet/`.
#![allow(missing_docs, clippy::unwrap_used)]

#[cfg(target_os = "linux")]
mod alone;
mod common;
mod profiled;
mod recording;
