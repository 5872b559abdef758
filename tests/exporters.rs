//! The example with an exporter of its own: spans come while the program runs, below the program's spans.

#[allow(dead_code)]
#[path = "../examples/own-exporter/main.rs"]
mod own_exporter;

use kperf_otlp::proto::collector::trace::v1::ExportTraceServiceRequest;
use kperf_otlp::proto::trace::v1::Span;
use std::sync::mpsc::{Sender, channel};

struct Passing(Sender<Vec<Span>>);

impl own_exporter::SpanExporter for Passing {
    fn export(&mut self, request: ExportTraceServiceRequest) -> anyhow::Result<()> {
        let scopes = request.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
        Ok(self.0.send(scopes.flat_map(|scope| scope.spans).collect())?)
    }
}

#[test]
fn an_exporter_of_the_host_s_gets_all_spans_below_the_host_s() {
    let (sender, spans) = channel();
    own_exporter::serve(100, Passing(sender)).unwrap();
    let spans: Vec<Span> = spans.into_iter().flatten().collect();
    assert_eq!(spans.len(), 200);
    for request in 1..=100_u64 {
        let trace = u128::from(request).to_be_bytes();
        let of_request: Vec<_> = spans.iter().filter(|span| span.trace_id == trace).collect();
        assert_eq!(of_request.len(), 2);
        // A call ends before its caller.
        assert_eq!(of_request[1].parent_span_id, request.to_be_bytes());
        assert_eq!(of_request[0].parent_span_id, of_request[1].span_id);
    }
}

struct Failing;

impl own_exporter::SpanExporter for Failing {
    fn export(&mut self, _: ExportTraceServiceRequest) -> anyhow::Result<()> {
        anyhow::bail!("no room")
    }
}

#[test]
fn an_exporter_that_fails_does_not_hold_the_guest_up() {
    let error = own_exporter::serve(10, Failing).unwrap_err();
    assert_eq!(error.to_string(), "no room");
}
