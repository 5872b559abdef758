//! Requests in OTLP's JSON.
//!
//! The Collector's file receiver reads it, one request on each line. OTLP's JSON is protobuf's JSON with a few exceptions:
//! ids are hexadecimal, enumerations are numbers. Integers of 64 bits are strings. Only fields that this crate writes are
//! converted.
//! <https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding>

mod metrics;
mod profiles;
mod spans;

use crate::proto::collector::metrics::v1::ExportMetricsServiceRequest;
use crate::proto::collector::profiles::v1development::ExportProfilesServiceRequest;
use crate::proto::collector::trace::v1::ExportTraceServiceRequest;
use crate::proto::common::v1::any_value::Value;
use crate::proto::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use crate::proto::resource::v1::Resource;
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

impl Serialize for Json<'_, Resource> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("attributes", &List(&self.0.attributes))?;
        map.end()
    }
}

impl Serialize for Json<'_, InstrumentationScope> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &self.0.name)?;
        map.serialize_entry("version", &self.0.version)?;
        map.end()
    }
}

impl Serialize for Json<'_, KeyValue> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("key", &self.0.key)?;
        if let Some(value) = &self.0.value {
            map.serialize_entry("value", &Json(value))?;
        }
        map.end()
    }
}

impl Serialize for Json<'_, AnyValue> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match &self.0.value {
            Some(Value::StringValue(text)) => map.serialize_entry("stringValue", text)?,
            Some(Value::BoolValue(value)) => map.serialize_entry("boolValue", value)?,
            Some(Value::IntValue(number)) => map.serialize_entry("intValue", &Long(number))?,
            Some(Value::DoubleValue(number)) => map.serialize_entry("doubleValue", number)?,
            Some(Value::ArrayValue(array)) => {
                map.serialize_entry("arrayValue", &Values { values: List(&array.values) })?;
            }
            Some(Value::KvlistValue(list)) => {
                map.serialize_entry("kvlistValue", &Values { values: List(&list.values) })?;
            }
            // This crate writes no bytes and no indices of strings.
            Some(Value::BytesValue(_) | Value::StringValueStrindex(_)) | None => {}
        }
        map.end()
    }
}

struct Values<'a, T> {
    values: List<'a, T>,
}

impl<'a, T> Serialize for Values<'a, T>
where
    Json<'a, T>: Serialize,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry("values", &self.values)?;
        map.end()
    }
}
