//! What a host sees of the recorder under wasmtime. One program, because each takes its time to link. Tests that need a process of
//! their own stand beside this folder.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod asynchronous;
mod component_profiles;
mod components;
mod embed;
mod failures;
mod finish;
mod host_functions;
mod inlined;
mod instructions;
mod instrument;
mod link;
mod losses;
mod parents;
mod rotation;
mod sinks;
