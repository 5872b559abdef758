//! Metrics in OTLP's JSON.

use super::{Json, List, Long};
use crate::proto::collector::metrics::v1::ExportMetricsServiceRequest;
use crate::proto::metrics::v1::exponential_histogram_data_point::Buckets;
use crate::proto::metrics::v1::metric::Data;
use crate::proto::metrics::v1::number_data_point::Value;
use crate::proto::metrics::v1::{
    ExponentialHistogram, ExponentialHistogramDataPoint, Metric, NumberDataPoint, ResourceMetrics,
    ScopeMetrics, Sum,
};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

impl Serialize for Json<'_, ExportMetricsServiceRequest> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("resourceMetrics", &List(&self.0.resource_metrics))?;
        map.end()
    }
}

impl Serialize for Json<'_, ResourceMetrics> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(resource) = &self.0.resource {
            map.serialize_entry("resource", &Json(resource))?;
        }
        map.serialize_entry("scopeMetrics", &List(&self.0.scope_metrics))?;
        map.serialize_entry("schemaUrl", &self.0.schema_url)?;
        map.end()
    }
}

impl Serialize for Json<'_, ScopeMetrics> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(scope) = &self.0.scope {
            map.serialize_entry("scope", &Json(scope))?;
        }
        map.serialize_entry("metrics", &List(&self.0.metrics))?;
        map.serialize_entry("schemaUrl", &self.0.schema_url)?;
        map.end()
    }
}

impl Serialize for Json<'_, Metric> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &self.0.name)?;
        map.serialize_entry("description", &self.0.description)?;
        map.serialize_entry("unit", &self.0.unit)?;
        match &self.0.data {
            Some(Data::Sum(sum)) => map.serialize_entry("sum", &Json(sum))?,
            Some(Data::ExponentialHistogram(histogram)) => {
                map.serialize_entry("exponentialHistogram", &Json(histogram))?;
            }
            // This crate writes no other kinds.
            _ => {}
        }
        map.end()
    }
}

impl Serialize for Json<'_, Sum> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("dataPoints", &List(&self.0.data_points))?;
        map.serialize_entry("aggregationTemporality", &self.0.aggregation_temporality)?;
        map.serialize_entry("isMonotonic", &self.0.is_monotonic)?;
        map.end()
    }
}

impl Serialize for Json<'_, NumberDataPoint> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let point = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("attributes", &List(&point.attributes))?;
        map.serialize_entry("startTimeUnixNano", &Long(point.start_time_unix_nano))?;
        map.serialize_entry("timeUnixNano", &Long(point.time_unix_nano))?;
        match &point.value {
            Some(Value::AsInt(number)) => map.serialize_entry("asInt", &Long(number))?,
            Some(Value::AsDouble(number)) => map.serialize_entry("asDouble", number)?,
            None => {}
        }
        map.end()
    }
}

impl Serialize for Json<'_, ExponentialHistogram> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("dataPoints", &List(&self.0.data_points))?;
        map.serialize_entry("aggregationTemporality", &self.0.aggregation_temporality)?;
        map.end()
    }
}

impl Serialize for Json<'_, ExponentialHistogramDataPoint> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let point = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("attributes", &List(&point.attributes))?;
        map.serialize_entry("startTimeUnixNano", &Long(point.start_time_unix_nano))?;
        map.serialize_entry("timeUnixNano", &Long(point.time_unix_nano))?;
        map.serialize_entry("count", &Long(point.count))?;
        for (key, number) in [("sum", point.sum), ("min", point.min), ("max", point.max)] {
            if let Some(number) = number {
                map.serialize_entry(key, &number)?;
            }
        }
        map.serialize_entry("scale", &point.scale)?;
        map.serialize_entry("zeroCount", &Long(point.zero_count))?;
        if let Some(buckets) = &point.positive {
            map.serialize_entry("positive", &Json(buckets))?;
        }
        map.end()
    }
}

impl Serialize for Json<'_, Buckets> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let counts: Vec<_> = self.0.bucket_counts.iter().map(Long).collect();
        map.serialize_entry("offset", &self.0.offset)?;
        map.serialize_entry("bucketCounts", &counts)?;
        map.end()
    }
}
