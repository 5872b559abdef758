//! Spans of a real program: every call of 500 steps of the Game of Life.

use crate::common::command::{kperf, life};
use kperf_otlp::proto::collector::trace::v1::ExportTraceServiceRequest;
use kperf_otlp::proto::trace::v1::Span;
use kperf_otlp::{SpanOptions, Spans};
use kperf_profile::Profile;
use kperf_trace::TraceReader;
use prost::Message;
use std::collections::HashMap;
use std::fs;

/// The trace of an example, recorded by the program.
fn record(language: &str, clock: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    kperf(&folder, &["run", "-q", "--clock", clock, &life(language)]);
    fs::read(folder.path().join("life.kperf")).unwrap()
}

/// When a span was, and its parent.
struct When {
    start: u64,
    end: u64,
    parent: u64,
}

fn id(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_be_bytes)
}

/// Answers how many calls there were.
fn check(language: &str, clock: &str) -> u64 {
    let file = record(language, clock);
    let mut reading = Spans::new(TraceReader::new(&file[..]).unwrap(), SpanOptions::default());
    let mut spans: HashMap<u64, When> = HashMap::new();
    let (mut traces, mut by_name) = (HashMap::<Vec<u8>, u64>::new(), HashMap::<String, u64>::new());
    while let Some(request) = reading.next().unwrap() {
        let mut decoded = ExportTraceServiceRequest::decode(&request.body[..]).unwrap();
        for span in std::mem::take(&mut decoded.resource_spans[0].scope_spans[0].spans) {
            let Span { start_time_unix_nano: start, end_time_unix_nano: end, .. } = span;
            assert!(start <= end);
            *traces.entry(span.trace_id).or_default() += 1;
            *by_name.entry(span.name).or_default() += 1;
            let when = When { start, end, parent: id(&span.parent_span_id) };
            assert!(spans.insert(id(&span.span_id), when).is_none(), "an id came twice");
        }
    }
    let account = reading.account();
    // The same calls as the report's, function by function.
    let profile = Profile::read(TraceReader::new(&file[..]).unwrap(), |_| ()).unwrap();
    let calls = profile.calls();
    assert_eq!((account.calls, account.spans, spans.len() as u64), (calls, calls, calls));
    assert_eq!(account.elided.calls(), 0);
    let mut reported: HashMap<String, u64> = HashMap::new();
    // The node of the recorder has time and no calls.
    for (_, node) in profile.tree.iter().filter(|(_, node)| node.calls > 0) {
        *reported.entry(profile.symbols.name(node.func).into_owned()).or_default() += node.calls;
    }
    assert_eq!(by_name, reported);
    let mut roots = 0;
    for span in spans.values() {
        match spans.get(&span.parent) {
            Some(parent) => assert!(parent.start <= span.start && span.end <= parent.end),
            None => {
                assert_eq!(span.parent, 0, "the parent of every span is there");
                roots += 1;
            }
        }
    }
    assert_eq!(roots, traces.len(), "a trace for each call from the host");
    calls
}

#[test]
fn every_call_of_the_game_of_life_in_rust_is_a_span_within_its_parent() {
    for clock in ["precise", "ticker"] {
        assert_eq!(check("rust", clock), 2_000_558);
    }
}

#[test]
fn every_call_of_the_game_of_life_in_kotlin_is_a_span_within_its_parent() {
    assert!(check("kotlin", "precise") > 2_000_000);
}
