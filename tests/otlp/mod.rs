//! A real Collector takes, counts and writes every span. A real Jaeger shows them as the tree that `replay` prints.
//!
//! `scripts/otlp-server` builds both with sources from the Go module proxy, and keeps them. A missing Collector is built; Jaeger, which
//! takes long, only with `KPERF_JAEGER=1`. Without Go the tests are skipped, and say so.

pub mod collector;
mod faults;
mod jaeger;
mod life;
mod links;
mod live;
mod profiles;
mod server;
mod spans;
mod support;
