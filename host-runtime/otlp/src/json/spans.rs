//! Spans in OTLP's JSON.

use super::{Hex, Json, List, Long};
use crate::proto::collector::trace::v1::ExportTraceServiceRequest;
use crate::proto::trace::v1::span::Event;
use crate::proto::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

impl Serialize for Json<'_, ExportTraceServiceRequest> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("resourceSpans", &List(&self.0.resource_spans))?;
        map.end()
    }
}

impl Serialize for Json<'_, ResourceSpans> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(resource) = &self.0.resource {
            map.serialize_entry("resource", &Json(resource))?;
        }
        map.serialize_entry("scopeSpans", &List(&self.0.scope_spans))?;
        map.serialize_entry("schemaUrl", &self.0.schema_url)?;
        map.end()
    }
}

impl Serialize for Json<'_, ScopeSpans> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(scope) = &self.0.scope {
            map.serialize_entry("scope", &Json(scope))?;
        }
        map.serialize_entry("spans", &List(&self.0.spans))?;
        map.serialize_entry("schemaUrl", &self.0.schema_url)?;
        map.end()
    }
}

impl Serialize for Json<'_, Span> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let span = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("traceId", &Hex(&span.trace_id))?;
        map.serialize_entry("spanId", &Hex(&span.span_id))?;
        if !span.trace_state.is_empty() {
            map.serialize_entry("traceState", &span.trace_state)?;
        }
        if !span.parent_span_id.is_empty() {
            map.serialize_entry("parentSpanId", &Hex(&span.parent_span_id))?;
        }
        map.serialize_entry("flags", &span.flags)?;
        map.serialize_entry("name", &span.name)?;
        map.serialize_entry("kind", &span.kind)?;
        map.serialize_entry("startTimeUnixNano", &Long(span.start_time_unix_nano))?;
        map.serialize_entry("endTimeUnixNano", &Long(span.end_time_unix_nano))?;
        map.serialize_entry("attributes", &List(&span.attributes))?;
        if !span.events.is_empty() {
            map.serialize_entry("events", &List(&span.events))?;
        }
        if let Some(status) = &span.status {
            map.serialize_entry("status", &Json(status))?;
        }
        map.end()
    }
}

impl Serialize for Json<'_, Event> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("timeUnixNano", &Long(self.0.time_unix_nano))?;
        map.serialize_entry("name", &self.0.name)?;
        map.serialize_entry("attributes", &List(&self.0.attributes))?;
        map.end()
    }
}

impl Serialize for Json<'_, Status> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("message", &self.0.message)?;
        map.serialize_entry("code", &self.0.code)?;
        map.end()
    }
}
