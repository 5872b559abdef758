//! Spans of a trace, decoded and as text.
#![allow(dead_code, unreachable_pub, reason = "each test file is a crate of its own and uses a part")]

#[path = "../../../profile/tests/support/mod.rs"]
mod support;

use kperf_otlp::proto::collector::trace::v1::ExportTraceServiceRequest;
use kperf_otlp::proto::common::v1::KeyValue;
use kperf_otlp::proto::common::v1::any_value::Value;
use kperf_otlp::proto::trace::v1::Span;
use kperf_otlp::{Account, Request, SpanOptions, Spans};
use kperf_trace::TraceReader;
use prost::Message;
use std::collections::HashMap;
use std::fmt::Write;

pub use support::*;

/// A seed that is fixed, else the defaults.
pub fn seeded() -> SpanOptions {
    SpanOptions { seed: Some(1), ..SpanOptions::default() }
}

/// All requests of a trace.
pub fn requests(file: &[u8], options: SpanOptions) -> (Vec<Request>, Account) {
    let mut spans = Spans::new(TraceReader::new(file).expect("a trace"), options);
    let mut requests = Vec::new();
    while let Some(request) = spans.next().expect("from memory") {
        requests.push(request);
    }
    (requests, spans.account())
}

/// All spans of a trace, in the order in which they were given.
pub fn spans(file: &[u8], options: SpanOptions) -> (Vec<Span>, Account) {
    let (requests, account) = requests(file, options);
    let mut spans = Vec::new();
    for request in &requests {
        let decoded = decode(&request.body);
        let [resource] = &decoded.resource_spans[..] else { panic!("one resource") };
        let [scope] = &resource.scope_spans[..] else { panic!("one scope") };
        assert_eq!(scope.spans.len() as u64, request.spans);
        spans.extend_from_slice(&scope.spans);
    }
    assert_eq!(account.spans, spans.len() as u64);
    assert_eq!(account.requests, requests.len() as u64);
    assert_eq!(account.bytes, requests.iter().map(|request| request.body.len() as u64).sum::<u64>());
    assert_eq!(account.calls + account.run_spans, account.spans + account.elided.calls());
    (spans, account)
}

/// Decodes a request and checks that prost would have written the same bytes.
pub fn decode(body: &[u8]) -> ExportTraceServiceRequest {
    let decoded = ExportTraceServiceRequest::decode(body).expect("a request");
    // prost leaves out a time that is zero.
    let mut spans = decoded.resource_spans.iter().flat_map(|told| &told.scope_spans[0].spans);
    let has_zero = spans.any(|span| span.start_time_unix_nano == 0 || span.end_time_unix_nano == 0);
    assert!(has_zero || decoded.encode_to_vec() == body, "prost would write it in another way");
    decoded
}

/// An attribute as text.
pub fn attribute(attributes: &[KeyValue], key: &str) -> Option<String> {
    let value = attributes.iter().find(|attribute| attribute.key == key)?.value.as_ref()?;
    Some(match value.value.as_ref()? {
        Value::StringValue(text) => text.clone(),
        Value::IntValue(number) => number.to_string(),
        other => format!("{other:?}"),
    })
}

/// The spans as indented trees: name, when it was, and everything that isn't the same for all of them.
pub fn text(spans: &[Span]) -> String {
    let by_id: HashMap<&[u8], &Span> = spans.iter().map(|span| (&span.span_id[..], span)).collect();
    assert_eq!(by_id.len(), spans.len(), "ids differ");
    let mut children: HashMap<&[u8], Vec<&Span>> = HashMap::new();
    let mut roots = Vec::new();
    for span in spans {
        match by_id.get(&span.parent_span_id[..]) {
            Some(parent) => {
                assert_eq!(parent.trace_id, span.trace_id);
                children.entry(&parent.span_id).or_default().push(span);
            }
            None => roots.push(span),
        }
    }
    let mut traces: Vec<&[u8]> = Vec::new();
    let mut out = String::new();
    roots.sort_by_key(|span| span.start_time_unix_nano);
    for root in roots {
        let known = traces.iter().position(|&trace| trace == root.trace_id);
        let number = known.unwrap_or_else(|| {
            traces.push(&root.trace_id);
            traces.len() - 1
        });
        write!(out, "trace {number}: ").expect("a String");
        tree(root, 0, &children, &mut out);
    }
    out
}

fn tree(span: &Span, level: usize, children: &HashMap<&[u8], Vec<&Span>>, out: &mut String) {
    let Span { name, start_time_unix_nano: start, end_time_unix_nano: end, .. } = span;
    write!(out, "{name} {start}-{end}").expect("a String");
    for attribute in &span.attributes {
        let key = &attribute.key;
        if key.starts_with("kperf.elided")
            || ["kperf.ending", "kperf.outcome", "kperf.recorder.time", "kperf.wait.time", "error.type"]
                .contains(&&key[..])
        {
            let value = self::attribute(&span.attributes, key).expect("a value");
            write!(out, " {}={value}", key.trim_start_matches("kperf.")).expect("a String");
        }
    }
    for event in &span.events {
        write!(out, " event {}@{}", event.name, event.time_unix_nano).expect("a String");
        for attribute in &event.attributes {
            let value = self::attribute(&event.attributes, &attribute.key).expect("a value");
            write!(out, " {}={value:?}", attribute.key).expect("a String");
        }
    }
    if let Some(status) = &span.status {
        write!(out, " status {} {:?}", status.code, status.message).expect("a String");
    }
    if !span.trace_state.is_empty() {
        write!(out, " state {}", span.trace_state).expect("a String");
    }
    if span.flags != 0x101 {
        write!(out, " flags {:#x}", span.flags).expect("a String");
    }
    out.push('\n');
    let mut inside = children.get(&span.span_id[..]).cloned().unwrap_or_default();
    inside.sort_by_key(|span| span.start_time_unix_nano);
    for child in inside {
        assert!(
            child.start_time_unix_nano >= *start && child.end_time_unix_nano <= *end,
            "{child:?} in {span:?}"
        );
        out.push_str(&"  ".repeat(level + 1));
        tree(child, level + 1, children, out);
    }
}

/// Compares texts line by line, without the indentation that all lines share.
#[track_caller]
pub fn assert_text(actual: &str, expected: &str) {
    let expected = expected.trim_start_matches('\n').trim_end();
    let indent = expected.len() - expected.trim_start().len();
    let expected: Vec<&str> =
        expected.lines().map(|line| line.get(indent..).unwrap_or(line.trim())).collect();
    let actual: Vec<&str> = actual.lines().collect();
    assert_eq!(actual, expected, "\n{}", actual.join("\n"));
}
