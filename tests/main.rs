//! All tests of the command in one program, since each would link wasmtime anew: a module for each subject.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, missing_docs, unreachable_pub)]

mod allocations;
mod busy;
mod callbacks;
mod cli;
mod common;
mod component_records;
mod component_scripts;
mod components;
mod conformance;
mod dataset;
mod differential;
mod docs;
mod examples;
mod exporters;
mod golden;
mod http;
mod instructions;
mod itself;
mod large;
mod limits;
mod lines;
mod loaders;
mod moments;
mod otlp;
mod outputs;
mod pictures;
mod plan;
mod reader;
mod repeat;
mod run;
mod signals;
#[path = "../benches/soak/embedded.rs"]
mod soak;
mod symbols;
mod top;
mod waits;
