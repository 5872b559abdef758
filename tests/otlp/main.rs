//! Spans that a real Collector takes, counts and writes down: every one of them. And a real Jaeger, which shows them as
//! the tree that `replay` prints.
//!
//! `scripts/otlp-server` builds both from the Go module proxy and keeps them. The Collector is built where it is missing;
//! Jaeger, which takes long, only with `KPERF_JAEGER=1`. Where Go is missing the tests say that they were skipped.

#![allow(clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used, missing_docs, unreachable_pub)]

mod collector;
mod embed;
mod faults;
mod jaeger;
mod server;
mod spans;
mod support;
