//! All tests of the rewriter in one program, but for `hostile`, which measures the whole program's time and memory.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs, unreachable_pub)]

mod all_lines;
mod component;
mod custom;
mod debug;
mod examples;
mod filetests;
mod inlined;
mod invalid;
mod lines;
mod robustness;
mod source;
mod split;
mod twin;
