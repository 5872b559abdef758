//! Two million spans: each arrives.

use super::collector::Collector;
use super::support::*;
use std::collections::HashSet;

/// Sends a trace and asks the receiver and its file how many spans came.
fn send(language: &str, grpc: bool, more: &[&str]) {
    let Some(collector) = Collector::start() else { return };
    let (folder, calls) = record(language, "auto", "500");
    assert!(calls > 2_000_000, "{calls} calls");
    let endpoint = if grpc { collector.grpc() } else { collector.http() };
    let protocol = if grpc { "grpc" } else { "http/protobuf" };
    let args = ["send", "life.kperf", "--endpoint", &endpoint, "--protocol", protocol];
    let output = kperf(folder.path(), &[&args[..], more].concat()).output().unwrap();
    println!("{language} by {protocol} {more:?}: {}", stderr(&output));
    all_acknowledged(&output, calls);
    assert_eq!(collector.accepted(), calls);
    let mut ids = HashSet::new();
    collector.written(|span| assert!(ids.insert(<[u8; 8]>::try_from(&span.span_id[..]).unwrap())));
    assert_eq!(ids.len() as u64, calls);
}

#[test]
fn rust_over_http() {
    send("rust", false, &[]);
}

#[test]
fn rust_over_grpc_packed() {
    send("rust", true, &["--compression", "gzip"]);
}

#[test]
fn kotlin_over_http_packed() {
    send("kotlin", false, &["--compression", "gzip"]);
}

#[test]
fn kotlin_over_grpc() {
    send("kotlin", true, &[]);
}

#[test]
fn spans_leave_while_the_program_runs() {
    let Some(collector) = Collector::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let module = module("rust");
    let args =
        ["run", module.to_str().unwrap(), "--trace", "life.kperf", "--otlp", &collector.http(), "--", "500"];
    let output = kperf(folder.path(), &args).output().unwrap();
    let calls = calls(folder.path());
    all_acknowledged(&output, calls);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "500 steps, 50 live cells\n");
    assert_eq!(collector.accepted(), calls);
}

#[test]
fn what_filters_leave_out_is_counted() {
    let Some(collector) = Collector::start() else { return };
    let (folder, calls) = record("rust", "auto", "50");
    let args = ["send", "life.kperf", "--endpoint", &collector.http(), "--skip", "*is_valid_position"];
    let output = kperf(folder.path(), &args).output().unwrap();
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    let sent = calls - 160_000;
    assert_eq!(table(&text), [calls, 160_000, 0, sent, sent, 0, 0], "{text}");
    assert_eq!(collector.accepted(), sent);
    let mut counted = 0;
    collector.written(|span| {
        let elided = span.attributes.iter().find(|attribute| attribute.key == "kperf.elided.count");
        if let Some(value) = elided.and_then(|attribute| attribute.value.as_ref()) {
            use kperf_otlp::proto::common::v1::any_value::Value;
            let Some(Value::IntValue(count)) = value.value else { panic!("{value:?}") };
            counted += count;
        }
    });
    assert_eq!(counted, 160_000);
}
