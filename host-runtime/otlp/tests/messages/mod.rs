//! Spans, links, metrics and profiles of a trace, read back by us and by others.

mod links;
mod metrics;
mod profiles;
mod properties;
mod python;
mod spans;
