//! Allocations of functions, as metrics.

use super::functions::request_of;
use crate::attribute::string;
use crate::proto::common::v1::KeyValue;
use crate::proto::metrics::v1::metric::Data;
use crate::proto::metrics::v1::number_data_point::Value;
use crate::proto::metrics::v1::{AggregationTemporality, Metric, NumberDataPoint, Sum};
use crate::spans::batch::Request;
use crate::spans::encoder::Encoder;
use crate::spans::functions::{attributes_of, shortened};
use kperf_abi::FuncId;
use kperf_profile::{Count, HOST, HeapFigures, LOST, NodeId, OTHER};

/// The maximum number of a function's points: one in each metric.
const METRICS: u64 = 4;

impl Encoder {
    /// The node of a function's allocations; the first is the host's.
    pub(crate) fn memory_node(function: Option<u32>) -> NodeId {
        NodeId(function.map_or(0, |index| index + 1))
    }

    /// The metrics of allocations between two times.
    pub(crate) fn memory_metrics(&self, start_ticks: u64, end_ticks: u64) -> Vec<Request> {
        let Some(heap) = self.heap.as_ref().filter(|heap| heap.records() > 0) else { return Vec::new() };
        let [start, end] = [start_ticks, end_ticks].map(|ticks| self.unix_nanos(ticks));
        let functions = self.functions.list().iter().zip(0..);
        let functions = functions.map(|(function, index)| (function.func, Self::memory_node(Some(index))));
        let all: Vec<_> = std::iter::once((HOST, Self::memory_node(None)))
            .chain(functions)
            .map(|(func, node)| (func, heap.of_node(node)))
            .filter(|(_, figures)| figures.allocated() > Count::default())
            .collect();
        let most = (self.options.limits.spans / METRICS).clamp(1, 1 << 20) as usize;
        let mut requests = Vec::new();
        for functions in all.chunks(most) {
            self.put_memory(functions, start, end, &mut requests);
        }
        requests
    }

    /// Makes a request of these functions, or two if it would be too large.
    fn put_memory(
        &self,
        functions: &[(FuncId, HeapFigures)],
        start: u64,
        end: u64,
        requests: &mut Vec<Request>,
    ) {
        let point = |func: FuncId, value: u64| NumberDataPoint {
            attributes: self.memory_attributes(func),
            start_time_unix_nano: start,
            time_unix_nano: end,
            value: Some(Value::AsInt(value.min(i64::MAX as u64) as i64)),
            ..NumberDataPoint::default()
        };
        // The time at which collected objects are freed is unknown.
        let followed = || functions.iter().filter(|(_, figures)| figures.blocks > Count::default());
        let metrics: Vec<_> = [
            (
                "kperf.memory.allocated",
                "How many bytes its calls asked for.",
                "By",
                functions.iter().map(|&(func, figures)| point(func, figures.allocated_bytes())).collect(),
            ),
            (
                "kperf.memory.allocations",
                "How many blocks and objects its calls asked for.",
                "{allocation}",
                functions.iter().map(|&(func, figures)| point(func, figures.allocated().get())).collect(),
            ),
            (
                "kperf.memory.freed",
                "How many of these bytes were freed.",
                "By",
                followed().map(|&(func, figures)| point(func, figures.freed_bytes)).collect::<Vec<_>>(),
            ),
            (
                "kperf.memory.live",
                "How many of these bytes are left.",
                "By",
                followed().map(|&(func, figures)| point(func, figures.live_bytes)).collect(),
            ),
        ]
        .into_iter()
        .filter(|(_, _, _, points)| !points.is_empty())
        .map(|(name, description, unit, data_points)| Metric {
            name: name.into(),
            description: description.into(),
            unit: unit.into(),
            data: Some(Data::Sum(Sum {
                data_points,
                aggregation_temporality: AggregationTemporality::Cumulative.into(),
                is_monotonic: name != "kperf.memory.live",
            })),
            ..Metric::default()
        })
        .collect();
        let body = request_of(metrics, self);
        if body.len() > self.options.limits.bytes
            && let Some((first, second)) = functions.split_at_checked(functions.len() / 2)
            && !first.is_empty()
        {
            self.put_memory(first, start, end, requests);
            self.put_memory(second, start, end, requests);
            return;
        }
        let points = 2 * (functions.len() + followed().count()) as u64;
        requests.push(Request { body, spans: points });
    }

    fn memory_attributes(&self, func: FuncId) -> Vec<KeyValue> {
        if [HOST, LOST, OTHER].contains(&func) {
            return vec![string("code.function.name", &self.symbols.name(func))];
        }
        attributes_of(func, shortened(&self.symbols.name(func)), &self.symbols)
    }
}
