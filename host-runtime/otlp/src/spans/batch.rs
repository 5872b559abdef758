//! Batches spans into requests.

use crate::options::Limits;
use crate::wire::{field_len, varint};
use std::collections::VecDeque;

/// A request that is ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// An `ExportTraceServiceRequest` (or an `ExportMetricsServiceRequest`) in protobuf, not compressed. A `TracesData` has
    /// the same bytes.
    pub body: Vec<u8>,
    /// How many spans (or points of metrics, or profiles) are in it, as a Collector counts when it rejects some.
    pub spans: u64,
}

/// Gathers spans and cuts requests.
#[derive(Debug)]
pub(crate) struct Batch {
    /// The fields before the spans, each with tag and length: the resource, the scope.
    resource: Vec<u8>,
    scope: Vec<u8>,
    /// The schema of the resource and of the scope, which come after the spans.
    schema: Vec<u8>,
    /// Encoded spans, each with its tag and length.
    spans: Vec<u8>,
    count: u64,
    limits: Limits,
    ready: VecDeque<Request>,
    /// The spans of all requests so far.
    pub(crate) given: u64,
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
}

impl Batch {
    pub(crate) fn new(limits: Limits) -> Batch {
        Batch {
            resource: Vec::new(),
            scope: Vec::new(),
            schema: Vec::new(),
            spans: Vec::new(),
            count: 0,
            limits,
            ready: VecDeque::new(),
            given: 0,
            requests: 0,
            bytes: 0,
        }
    }

    /// Whether the resource and the scope are known.
    #[inline]
    pub(crate) fn is_addressed(&self) -> bool {
        !self.resource.is_empty()
    }

    /// Sets the resource and the scope, as encoded fields.
    pub(crate) fn address(&mut self, resource: Vec<u8>, scope: Vec<u8>, schema: Vec<u8>) {
        (self.resource, self.scope, self.schema) = (resource, scope, schema);
    }

    /// A place for a span of so many bytes; `wire::field_len` counts its tag and length too.
    #[inline]
    pub(crate) fn span(&mut self, length: usize) -> &mut Vec<u8> {
        let length = field_len(length);
        if self.count >= self.limits.spans.max(1)
            || self.count > 0 && self.body_len(self.spans.len() + length) > self.limits.bytes
        {
            self.cut();
        }
        self.count += 1;
        self.spans.reserve(length);
        &mut self.spans
    }

    /// Length of the request's body if its spans have so many bytes.
    #[inline]
    fn body_len(&self, spans: usize) -> usize {
        field_len(self.resource_spans_len(spans))
    }

    #[inline]
    fn scope_spans_len(&self, spans: usize) -> usize {
        self.scope.len() + spans + self.schema.len()
    }

    #[inline]
    fn resource_spans_len(&self, spans: usize) -> usize {
        self.resource.len() + field_len(self.scope_spans_len(spans)) + self.schema.len()
    }

    /// Makes a request of the current spans.
    pub(crate) fn cut(&mut self) {
        if self.count == 0 {
            return;
        }
        let spans = self.spans.len();
        let mut body = Vec::with_capacity(self.body_len(spans));
        body.push(1 << 3 | 2);
        varint(&mut body, self.resource_spans_len(spans) as u64);
        body.extend_from_slice(&self.resource);
        body.push(2 << 3 | 2);
        varint(&mut body, self.scope_spans_len(spans) as u64);
        body.extend_from_slice(&self.scope);
        body.extend_from_slice(&self.spans);
        body.extend_from_slice(&self.schema);
        body.extend_from_slice(&self.schema);
        self.spans.clear();
        self.requests += 1;
        self.bytes += body.len() as u64;
        let spans = std::mem::take(&mut self.count);
        self.ready.push_back(Request { body, spans });
        self.given += spans;
    }

    /// A request that is full.
    pub(crate) fn pop(&mut self) -> Option<Request> {
        self.ready.pop_front()
    }
}
