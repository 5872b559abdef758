//! What JavaScript asks for, as JSON.

use kperf_otlp::{Limits, ResourceOptions, Roots, SpanOptions, TraceContext};
use serde::Deserialize;
use std::collections::BTreeMap;

/// What is made of the trace.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// OTLP requests, if any are wanted.
    pub spans: Option<SpanFields>,
    /// Whether the call tree is wanted.
    pub tree: bool,
}

/// [`SpanOptions`], as far as JavaScript sets them. A field that is left out has the default there.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SpanFields {
    /// See [`SpanOptions::seed`].
    pub seed: Option<u64>,
    /// Whether the whole run is one trace.
    pub per_run: bool,
    /// The object of `traceparent` and `tracestate` that all spans are inside of.
    pub parent: Option<TraceContext>,
    /// Calls that took less get no span, in nanoseconds.
    pub min_nanos: u64,
    /// How many levels of calls get spans.
    pub max_depth: Option<u32>,
    /// At most so many spans.
    pub max_spans: Option<u64>,
    /// The resource's `service.name`.
    pub service_name: Option<String>,
    /// More attributes of the resource.
    pub attributes: BTreeMap<String, String>,
    /// How many bytes a request may have before compression.
    pub request_bytes: Option<usize>,
    /// How many spans a request may have.
    pub request_spans: Option<u64>,
}

impl SpanFields {
    /// The same for the encoder.
    pub(crate) fn options(self) -> SpanOptions {
        let limits = Limits::default();
        SpanOptions {
            roots: if self.per_run { Roots::PerRun } else { Roots::PerCall },
            seed: self.seed,
            parent: self.parent,
            min_nanos: self.min_nanos,
            max_depth: self.max_depth,
            max_spans: self.max_spans,
            resource: ResourceOptions {
                service_name: self.service_name,
                attributes: self.attributes.into_iter().collect(),
            },
            limits: Limits {
                bytes: self.request_bytes.unwrap_or(limits.bytes),
                spans: self.request_spans.unwrap_or(limits.spans),
            },
            ..SpanOptions::default()
        }
    }
}
