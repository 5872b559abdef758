//! Metrics of a profile: counts of calls, and self times from samples.

use super::functions::request_of;
use crate::proto::metrics::v1::metric::Data;
use crate::proto::metrics::v1::number_data_point::Value;
use crate::proto::metrics::v1::{AggregationTemporality, Metric, NumberDataPoint, Sum};
use crate::spans::batch::Request;
use crate::spans::counted::Figures;
use crate::spans::encoder::Encoder;
use crate::spans::functions::{attributes_of, shortened};
use kperf_abi::FuncId;

impl Encoder {
    /// The metrics of a profile's functions between two times.
    pub(crate) fn counted_metrics(&self, start_ticks: u64, end_ticks: u64) -> Vec<Request> {
        let [start, end] = [start_ticks, end_ticks].map(|ticks| self.unix_nanos(ticks));
        let functions: Vec<_> = self.counted.functions().collect();
        let most = (self.options.limits.spans / 2).clamp(1, 1 << 20) as usize;
        let mut requests = Vec::new();
        for functions in functions.chunks(most) {
            self.put_counted(functions, start, end, &mut requests);
        }
        requests
    }

    /// Makes a request of these functions, or two if it would be too large.
    fn put_counted(
        &self,
        functions: &[(FuncId, Figures)],
        start: u64,
        end: u64,
        requests: &mut Vec<Request>,
    ) {
        let point = |func, value| {
            let name = self.symbols.name(func);
            NumberDataPoint {
                attributes: attributes_of(func, shortened(&name), &self.symbols),
                start_time_unix_nano: start,
                time_unix_nano: end,
                value: Some(value),
                ..NumberDataPoint::default()
            }
        };
        let seconds = |ticks: u64| ticks as f64 / self.header.clock.ticks_per_second;
        let sum = |data_points| {
            let aggregation_temporality = AggregationTemporality::Cumulative.into();
            Some(Data::Sum(Sum { data_points, aggregation_temporality, is_monotonic: true }))
        };
        let calls = functions.iter().map(|&(func, Figures { calls, .. })| {
            point(func, Value::AsInt(calls.min(i64::MAX as u64) as i64))
        });
        let times = functions
            .iter()
            .map(|&(func, Figures { self_ticks, .. })| point(func, Value::AsDouble(seconds(self_ticks))));
        let metric = |name: &str, description: &str, unit: &str, data| Metric {
            name: name.into(),
            description: description.into(),
            unit: unit.into(),
            data,
            ..Metric::default()
        };
        let metrics = vec![
            metric(
                "kperf.function.calls",
                "How often a function was called.",
                "{call}",
                sum(calls.collect::<Vec<_>>()),
            ),
            metric(
                "kperf.function.self_time",
                "How long it was running itself, by samples.",
                "s",
                sum(times.collect::<Vec<_>>()),
            ),
        ];
        let body = request_of(metrics, self);
        if body.len() > self.options.limits.bytes
            && let Some((first, second)) = functions.split_at_checked(functions.len() / 2)
            && !first.is_empty()
        {
            self.put_counted(first, start, end, requests);
            self.put_counted(second, start, end, requests);
            return;
        }
        requests.push(Request { body, spans: 2 * functions.len() as u64 });
    }
}
