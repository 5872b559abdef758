//! Splits a request that a server finds too large.

use super::config::Signal;
use crate::proto::collector::metrics::v1::ExportMetricsServiceRequest;
use crate::proto::collector::trace::v1::ExportTraceServiceRequest;
use crate::proto::metrics::v1::Metric;
use crate::proto::metrics::v1::metric::Data;
use crate::spans::batch::Request;
use prost::Message;

/// Two requests with the halves of a request's spans, or points of metrics, in order. `None` if it has only one, if it can't be
/// read, or for a profile, which isn't divided.
pub(super) fn split(signal: Signal, body: &[u8]) -> Option<[Request; 2]> {
    match signal {
        Signal::Traces => {
            let first = ExportTraceServiceRequest::decode(body).ok()?;
            halves(first, |request| {
                let scopes = request.resource_spans.iter_mut().flat_map(|of| &mut of.scope_spans);
                scopes.map(|scope| Items::of(&mut scope.spans)).collect()
            })
        }
        Signal::Metrics => {
            let first = ExportMetricsServiceRequest::decode(body).ok()?;
            halves(first, |request| {
                let scopes = request.resource_metrics.iter_mut().flat_map(|of| &mut of.scope_metrics);
                scopes.flat_map(|scope| &mut scope.metrics).map(points_of).collect()
            })
        }
        Signal::Profiles => None,
    }
}

/// A list in a request that can be cut.
struct Items<'a> {
    length: usize,
    /// Keeps the items before a number, or those from it on.
    keep: Box<dyn FnOnce(usize, Half) + 'a>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    First,
    Second,
}

impl<'a> Items<'a> {
    fn of<T: 'a>(items: &'a mut Vec<T>) -> Items<'a> {
        let length = items.len();
        let keep = move |count, half| match half {
            Half::First => items.truncate(count),
            Half::Second => drop(items.drain(..count)),
        };
        Items { length, keep: Box::new(keep) }
    }
}

fn points_of(metric: &mut Metric) -> Items<'_> {
    match &mut metric.data {
        Some(Data::Gauge(gauge)) => Items::of(&mut gauge.data_points),
        Some(Data::Sum(sum)) => Items::of(&mut sum.data_points),
        Some(Data::Histogram(histogram)) => Items::of(&mut histogram.data_points),
        Some(Data::ExponentialHistogram(histogram)) => Items::of(&mut histogram.data_points),
        Some(Data::Summary(summary)) => Items::of(&mut summary.data_points),
        None => Items { length: 0, keep: Box::new(|_, _| ()) },
    }
}

fn halves<M: Message + Clone>(
    mut first: M,
    items: impl for<'a> Fn(&'a mut M) -> Vec<Items<'a>>,
) -> Option<[Request; 2]> {
    let mut second = first.clone();
    let all: usize = items(&mut first).iter().map(|items| items.length).sum();
    let middle = all / 2;
    if middle == 0 {
        return None;
    }
    for (message, half) in [(&mut first, Half::First), (&mut second, Half::Second)] {
        let mut left = middle;
        for items in items(message) {
            let count = items.length.min(left);
            left -= count;
            (items.keep)(count, half);
        }
    }
    let request = |message: M, spans: usize| Request { body: message.encode_to_vec(), spans: spans as u64 };
    Some([request(first, middle), request(second, all - middle)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::metrics::v1::{NumberDataPoint, ResourceMetrics, ScopeMetrics, Sum};
    use crate::proto::trace::v1::{ResourceSpans, ScopeSpans, Span};

    #[test]
    fn the_halves_have_all_spans_in_order() {
        let span = |n: usize| Span { name: n.to_string(), ..Span::default() };
        let scope = |range: std::ops::Range<usize>| ScopeSpans {
            spans: range.map(span).collect(),
            schema_url: "schema".into(),
            ..ScopeSpans::default()
        };
        let of = |scopes| ExportTraceServiceRequest {
            resource_spans: vec![ResourceSpans { scope_spans: scopes, ..ResourceSpans::default() }],
        };
        let cases = [(vec![scope(0..7)], 7), (vec![scope(0..2), scope(2..7)], 7), (vec![scope(0..2)], 2)];
        for (scopes, all) in cases {
            let halves = split(Signal::Traces, &of(scopes).encode_to_vec()).expect("two halves");
            let (mut names, mut counts) = (Vec::new(), Vec::new());
            for half in halves {
                let request = ExportTraceServiceRequest::decode(&*half.body).expect("a request");
                let scopes = &request.resource_spans[0].scope_spans;
                assert!(scopes.iter().all(|scope| scope.schema_url == "schema"));
                let spans: Vec<_> = scopes.iter().flat_map(|scope| &scope.spans).collect();
                assert_eq!(spans.len() as u64, half.spans);
                names.extend(spans.iter().map(|span| span.name.clone()));
                counts.push(half.spans);
            }
            assert_eq!(names, (0..all).map(|n: usize| n.to_string()).collect::<Vec<_>>());
            assert_eq!(counts, [all as u64 / 2, all as u64 - all as u64 / 2]);
        }
        assert_eq!(split(Signal::Traces, &of(vec![scope(0..1)]).encode_to_vec()), None);
        assert_eq!(split(Signal::Traces, b"nonsense"), None);
    }

    #[test]
    fn points_of_metrics_are_divided() {
        let sum = Sum { data_points: vec![NumberDataPoint::default(); 3], ..Sum::default() };
        let metric = Metric { data: Some(Data::Sum(sum)), ..Metric::default() };
        let scope = ScopeMetrics { metrics: vec![metric; 3], ..ScopeMetrics::default() };
        let of = ResourceMetrics { scope_metrics: vec![scope], ..ResourceMetrics::default() };
        let request = ExportMetricsServiceRequest { resource_metrics: vec![of] };
        let halves = split(Signal::Metrics, &request.encode_to_vec()).expect("two halves");
        assert_eq!(halves.map(|half| half.spans), [4, 5]);
    }
}
