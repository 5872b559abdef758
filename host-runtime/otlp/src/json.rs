//! Requests in OTLP's JSON.
//!
//! The Collector's file receiver reads it, one request on each line. OTLP's JSON is protobuf's JSON with a few exceptions:
//! ids are hexadecimal, enumerations are numbers. Integers of 64 bits are strings. Only fields that this crate writes are
//! converted.
//! <https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding>

use crate::proto::collector::metrics::v1::ExportMetricsServiceRequest;
use crate::proto::collector::profiles::v1development::ExportProfilesServiceRequest;
use crate::proto::collector::trace::v1::ExportTraceServiceRequest;
use crate::proto::common::v1::any_value::Value;
use crate::proto::common::v1::{AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList};
use crate::proto::metrics::v1::exponential_histogram_data_point::Buckets;
use crate::proto::metrics::v1::metric::Data;
use crate::proto::metrics::v1::{
    ExponentialHistogram, ExponentialHistogramDataPoint, Metric, NumberDataPoint, ResourceMetrics,
    ScopeMetrics, Sum, number_data_point,
};
use crate::proto::profiles::v1development::{
    Function, KeyValueAndUnit, Line, Link, Location, Mapping, Profile, ProfilesDictionary, ResourceProfiles,
    Sample, ScopeProfiles, Stack, ValueType,
};
use crate::proto::resource::v1::Resource;
use crate::proto::trace::v1::span::Event;
use crate::proto::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use prost::{DecodeError, Message};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use std::fmt;

/// The JSON of a request with spans, without a line break.
///
/// # Errors
///
/// If the bytes are no such request.
pub fn traces(body: &[u8]) -> Result<String, DecodeError> {
    let request = ExportTraceServiceRequest::decode(body)?;
    // Keys are text and no number is NaN: serialization can't fail.
    Ok(serde_json::to_string(&Json(&request)).unwrap_or_default())
}

/// The JSON of a request with metrics, without a line break.
///
/// # Errors
///
/// If the bytes are no such request.
pub fn metrics(body: &[u8]) -> Result<String, DecodeError> {
    let request = ExportMetricsServiceRequest::decode(body)?;
    Ok(serde_json::to_string(&Json(&request)).unwrap_or_default())
}

/// The JSON of a request with profiles, without a line break.
///
/// # Errors
///
/// If the bytes are no such request.
pub fn profiles(body: &[u8]) -> Result<String, DecodeError> {
    let request = ExportProfilesServiceRequest::decode(body)?;
    Ok(serde_json::to_string(&Json(&request)).unwrap_or_default())
}

/// Serializes a message.
struct Json<'a, T>(&'a T);

/// Serializes several messages.
struct List<'a, T>(&'a [T]);

impl<'a, T> Serialize for List<'a, T>
where
    Json<'a, T>: Serialize,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(Json))
    }
}

/// An id.
struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Serialize for Hex<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// An integer of 64 bits.
struct Long<T>(T);

impl<T: fmt::Display> Serialize for Long<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// Writes a message as an object with these members. `if` leaves a member out. After `;` is a field whose variant names one more.
macro_rules! message {
    (
        $type:ty, |$it:ident| $($name:literal $(if $has:expr)? => $value:expr),* $(,)?
        $(; $one:ident { $($variant:pat => $case:literal: $of:expr),+ $(,)? })?
    ) => {
        impl Serialize for Json<'_, $type> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let $it = self.0;
                let mut map = serializer.serialize_map(None)?;
                $(if true $(&& $has)? { map.serialize_entry($name, &$value)?; })*
                $(match &$it.$one {
                    $(Some($variant) => map.serialize_entry($case, &$of)?,)+
                    // This crate writes no others.
                    _ => {}
                })?
                map.end()
            }
        }
    };
}

message!(Resource, |it| "attributes" => List(&it.attributes));
message!(InstrumentationScope, |it| "name" => it.name, "version" => it.version);
message!(KeyValue, |it| "key" => it.key, "value" if it.value.is_some() => it.value.as_ref().map(Json));
message!(AnyValue, |it|; value {
    Value::StringValue(text) => "stringValue": text,
    Value::BoolValue(value) => "boolValue": value,
    Value::IntValue(number) => "intValue": Long(number),
    Value::DoubleValue(number) => "doubleValue": number,
    Value::ArrayValue(array) => "arrayValue": Json(array),
    Value::KvlistValue(list) => "kvlistValue": Json(list),
});
message!(ArrayValue, |it| "values" => List(&it.values));
message!(KeyValueList, |it| "values" => List(&it.values));

message!(ExportTraceServiceRequest, |it| "resourceSpans" => List(&it.resource_spans));
message!(ResourceSpans, |it|
    "resource" if it.resource.is_some() => it.resource.as_ref().map(Json),
    "scopeSpans" => List(&it.scope_spans),
    "schemaUrl" => it.schema_url,
);
message!(ScopeSpans, |it|
    "scope" if it.scope.is_some() => it.scope.as_ref().map(Json),
    "spans" => List(&it.spans),
    "schemaUrl" => it.schema_url,
);
message!(Span, |it|
    "traceId" => Hex(&it.trace_id),
    "spanId" => Hex(&it.span_id),
    "traceState" if !it.trace_state.is_empty() => it.trace_state,
    "parentSpanId" if !it.parent_span_id.is_empty() => Hex(&it.parent_span_id),
    "flags" => it.flags,
    "name" => it.name,
    "kind" => it.kind,
    "startTimeUnixNano" => Long(it.start_time_unix_nano),
    "endTimeUnixNano" => Long(it.end_time_unix_nano),
    "attributes" => List(&it.attributes),
    "events" if !it.events.is_empty() => List(&it.events),
    "status" if it.status.is_some() => it.status.as_ref().map(Json),
);
message!(Event, |it|
    "timeUnixNano" => Long(it.time_unix_nano),
    "name" => it.name,
    "attributes" => List(&it.attributes),
);
message!(Status, |it| "message" => it.message, "code" => it.code);

message!(ExportMetricsServiceRequest, |it| "resourceMetrics" => List(&it.resource_metrics));
message!(ResourceMetrics, |it|
    "resource" if it.resource.is_some() => it.resource.as_ref().map(Json),
    "scopeMetrics" => List(&it.scope_metrics),
    "schemaUrl" => it.schema_url,
);
message!(ScopeMetrics, |it|
    "scope" if it.scope.is_some() => it.scope.as_ref().map(Json),
    "metrics" => List(&it.metrics),
    "schemaUrl" => it.schema_url,
);
message!(Metric, |it|
    "name" => it.name,
    "description" => it.description,
    "unit" => it.unit;
    data {
        Data::Sum(sum) => "sum": Json(sum),
        Data::ExponentialHistogram(histogram) => "exponentialHistogram": Json(histogram),
    }
);
message!(Sum, |it|
    "dataPoints" => List(&it.data_points),
    "aggregationTemporality" => it.aggregation_temporality,
    "isMonotonic" => it.is_monotonic,
);
message!(NumberDataPoint, |it|
    "attributes" => List(&it.attributes),
    "startTimeUnixNano" => Long(it.start_time_unix_nano),
    "timeUnixNano" => Long(it.time_unix_nano);
    value {
        number_data_point::Value::AsInt(number) => "asInt": Long(number),
        number_data_point::Value::AsDouble(number) => "asDouble": number,
    }
);
message!(ExponentialHistogram, |it|
    "dataPoints" => List(&it.data_points),
    "aggregationTemporality" => it.aggregation_temporality,
);
message!(ExponentialHistogramDataPoint, |it|
    "attributes" => List(&it.attributes),
    "startTimeUnixNano" => Long(it.start_time_unix_nano),
    "timeUnixNano" => Long(it.time_unix_nano),
    "count" => Long(it.count),
    "sum" if it.sum.is_some() => it.sum,
    "min" if it.min.is_some() => it.min,
    "max" if it.max.is_some() => it.max,
    "scale" => it.scale,
    "zeroCount" => Long(it.zero_count),
    "positive" if it.positive.is_some() => it.positive.as_ref().map(Json),
);
message!(Buckets, |it|
    "offset" => it.offset,
    "bucketCounts" => it.bucket_counts.iter().map(Long).collect::<Vec<_>>(),
);

message!(ExportProfilesServiceRequest, |it|
    "resourceProfiles" => List(&it.resource_profiles),
    "dictionary" => it.dictionary.as_ref().map(Json),
);
message!(ResourceProfiles, |it|
    "resource" => it.resource.as_ref().map(Json),
    "scopeProfiles" => List(&it.scope_profiles),
    "schemaUrl" => it.schema_url,
);
message!(ScopeProfiles, |it|
    "scope" => it.scope.as_ref().map(Json),
    "profiles" => List(&it.profiles),
    "schemaUrl" => it.schema_url,
);
message!(Profile, |it|
    "sampleType" => it.sample_type.as_ref().map(Json),
    "samples" => List(&it.samples),
    "timeUnixNano" => Long(it.time_unix_nano),
    "durationNano" => Long(it.duration_nano),
    "profileId" => Hex(&it.profile_id),
);
message!(ValueType, |it| "typeStrindex" => it.type_strindex, "unitStrindex" => it.unit_strindex);
message!(Sample, |it|
    "stackIndex" => it.stack_index,
    "linkIndex" => it.link_index,
    "values" => it.values.iter().map(|&value| Long(value)).collect::<Vec<_>>(),
);
message!(ProfilesDictionary, |it|
    "mappingTable" => List(&it.mapping_table),
    "locationTable" => List(&it.location_table),
    "functionTable" => List(&it.function_table),
    "linkTable" => List(&it.link_table),
    "stringTable" => it.string_table,
    "attributeTable" => List(&it.attribute_table),
    "stackTable" => List(&it.stack_table),
);
message!(Mapping, |it|
    "memoryStart" => Long(it.memory_start),
    "memoryLimit" => Long(it.memory_limit),
    "filenameStrindex" => it.filename_strindex,
    "attributeIndices" => it.attribute_indices,
);
message!(Location, |it|
    "mappingIndex" => it.mapping_index,
    "address" => Long(it.address),
    "lines" => List(&it.lines),
);
message!(Line, |it| "functionIndex" => it.function_index, "line" => Long(it.line));
message!(Function, |it|
    "nameStrindex" => it.name_strindex,
    "systemNameStrindex" => it.system_name_strindex,
    "filenameStrindex" => it.filename_strindex,
    "startLine" => Long(it.start_line),
);
message!(Link, |it| "traceId" => Hex(&it.trace_id), "spanId" => Hex(&it.span_id));
message!(KeyValueAndUnit, |it|
    "keyStrindex" => it.key_strindex,
    "value" => it.value.as_ref().map(Json),
    "unitStrindex" => it.unit_strindex,
);
message!(Stack, |it| "locationIndices" => it.location_indices);
