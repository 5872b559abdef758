//! Calls and durations of functions, as metrics.

use crate::proto::collector::metrics::v1::ExportMetricsServiceRequest;
use crate::proto::metrics::v1::exponential_histogram_data_point::Buckets;
use crate::proto::metrics::v1::metric::Data;
use crate::proto::metrics::v1::number_data_point::Value;
use crate::proto::metrics::v1::{
    AggregationTemporality, ExponentialHistogram, ExponentialHistogramDataPoint, Metric, NumberDataPoint,
    ResourceMetrics, ScopeMetrics, Sum,
};
use crate::resource::{SCHEMA_URL, resource, scope};
use crate::spans::batch::Request;
use crate::spans::encoder::Encoder;
use crate::spans::functions::{Function, attributes_of, shortened};
use crate::spans::histogram::{Gathered, Histogram};
use kperf_profile::{LOST, OTHER, is_pause};
use prost::Message;

impl Encoder {
    /// The metrics of everything between two times.
    pub(crate) fn metrics(&self, start_ticks: u64, end_ticks: u64) -> Vec<Request> {
        let Some(gathered) = &self.metrics else { return Vec::new() };
        if !self.counted.is_empty() {
            // Its slow calls are not all of its calls.
            return self.counted_metrics(start_ticks, end_ticks);
        }
        let [start, end] = [start_ticks, end_ticks].map(|ticks| self.unix_nanos(ticks));
        let known = self.functions.list().iter().zip(gathered.functions());
        let functions: Vec<_> = known
            .filter(|(function, durations)| {
                ![LOST, OTHER].contains(&function.func) && !is_pause(function.func) && durations.count > 0
            })
            .collect();
        let mut requests = Vec::new();
        // Each function has a point in either metric.
        let most = (self.options.limits.spans / 2).clamp(1, 1 << 20) as usize;
        for functions in functions.chunks(most) {
            self.put_metrics(gathered, functions, start, end, &mut requests);
        }
        requests
    }

    /// Makes a request of these functions, or two if it would be too large.
    fn put_metrics(
        &self,
        gathered: &Gathered,
        functions: &[(&Function, &Histogram)],
        start: u64,
        end: u64,
        requests: &mut Vec<Request>,
    ) {
        let (mut calls, mut durations) = (Vec::new(), Vec::new());
        for (function, histogram) in functions {
            let name = self.symbols.name(function.func);
            let attributes = attributes_of(function.func, shortened(&name), &self.symbols);
            calls.push(NumberDataPoint {
                attributes: attributes.clone(),
                start_time_unix_nano: start,
                time_unix_nano: end,
                value: Some(Value::AsInt(histogram.count as i64)),
                ..NumberDataPoint::default()
            });
            if self.symbols.is_counted(function.func) {
                continue;
            }
            let (scale, offset, bucket_counts) = histogram.buckets();
            let seconds = |ticks| Some(gathered.seconds(ticks));
            durations.push(ExponentialHistogramDataPoint {
                attributes,
                start_time_unix_nano: start,
                time_unix_nano: end,
                count: histogram.count,
                sum: seconds(histogram.sum),
                scale,
                zero_count: histogram.zeros,
                positive: (!bucket_counts.is_empty()).then_some(Buckets { offset, bucket_counts }),
                min: seconds(histogram.min),
                max: seconds(histogram.max),
                ..ExponentialHistogramDataPoint::default()
            });
        }
        let metric = |name: &str, description: &str, unit: &str, data| Metric {
            name: name.into(),
            description: description.into(),
            unit: unit.into(),
            data: Some(data),
            ..Metric::default()
        };
        let aggregation_temporality = AggregationTemporality::Cumulative.into();
        let sum = Sum { data_points: calls, aggregation_temporality, is_monotonic: true };
        let histogram = ExponentialHistogram { data_points: durations, aggregation_temporality };
        let timed = histogram.data_points.len() as u64;
        let mut metrics = vec![metric(
            "kperf.function.calls",
            "How often a function was called.",
            "{call}",
            Data::Sum(sum),
        )];
        if timed > 0 {
            metrics.push(metric(
                "kperf.function.duration",
                "How long its calls took, what they called included.",
                "s",
                Data::ExponentialHistogram(histogram),
            ));
        }
        let body = request_of(metrics, self);
        if body.len() > self.options.limits.bytes
            && let Some((first, second)) = functions.split_at_checked(functions.len() / 2)
            && !first.is_empty()
        {
            self.put_metrics(gathered, first, start, end, requests);
            self.put_metrics(gathered, second, start, end, requests);
            return;
        }
        let points = functions.len() as u64 + timed;
        requests.push(Request { body, spans: points });
    }
}

/// The body of a request with these metrics.
pub(crate) fn request_of(metrics: Vec<Metric>, encoder: &Encoder) -> Vec<u8> {
    let scoped = ScopeMetrics { scope: Some(scope()), metrics, schema_url: SCHEMA_URL.into() };
    let request = ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            resource: Some(resource(&encoder.header, &encoder.symbols, &encoder.options.resource)),
            scope_metrics: vec![scoped],
            schema_url: SCHEMA_URL.into(),
        }],
    };
    request.encode_to_vec()
}
