//! Options from JavaScript, as JSON.

use kperf_otlp::{Limits, ResourceOptions, Roots, SpanOptions, TraceContext};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The products to make of the trace.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// OTLP requests.
    pub spans: Option<SpanFields>,
    /// The call tree.
    pub tree: bool,
}

/// The part of [`SpanOptions`] that JavaScript sets, with the same defaults.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SpanFields {
    /// See [`SpanOptions::seed`].
    pub seed: Option<u64>,
    /// Whether the whole run is one trace.
    pub per_run: bool,
    /// The parent of all spans: `traceparent` and `tracestate`.
    pub parent: Option<TraceContext>,
    /// Shorter calls, in nanoseconds, get no span.
    pub min_nanos: u64,
    /// The number of levels of calls that get spans.
    pub max_depth: Option<u32>,
    /// The maximum number of spans.
    pub max_spans: Option<u64>,
    /// The resource's `service.name`.
    pub service_name: Option<String>,
    /// More attributes of the resource.
    pub attributes: BTreeMap<String, String>,
    /// The maximum size of a request in bytes, before compression.
    pub request_bytes: Option<usize>,
    /// The maximum number of spans in a request.
    pub request_spans: Option<u64>,
}

impl SpanFields {
    /// These fields for the encoder.
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
