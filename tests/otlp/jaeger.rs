//! Jaeger shows a run as the tree that `replay` prints.

use super::server::{self, Ports, Server};
use super::support::*;
use serde_json::Value;
use std::collections::BTreeMap;

#[test]
fn jaeger_shows_the_tree_of_replay() {
    let build = std::env::var_os("KPERF_JAEGER").is_some();
    let Some(binary) = server::binary("jaeger", build) else { return };
    let ports = Ports::free();
    let [http, query, health, metrics, grpc, query_grpc] = ports.numbers;
    let config = format!(
        "
extensions:
  healthcheckv2: {{use_v2: true, http: {{endpoint: '127.0.0.1:{health}'}}}}
  jaeger_storage: {{backends: {{memory: {{memory: {{max_traces: 100}}}}}}}}
  jaeger_query:
    storage: {{traces: memory}}
    http: {{endpoint: '127.0.0.1:{query}'}}
    grpc: {{endpoint: '127.0.0.1:{query_grpc}'}}
receivers:
  otlp: {{protocols: {{http: {{endpoint: '127.0.0.1:{http}'}}, grpc: {{endpoint: '127.0.0.1:{grpc}'}}}}}}
exporters: {{jaeger_storage_exporter: {{trace_storage: memory, queue: {{enabled: false}}}}}}
service:
  extensions: [healthcheckv2, jaeger_storage, jaeger_query]
  pipelines: {{traces: {{receivers: [otlp], exporters: [jaeger_storage_exporter]}}}}
  telemetry:
    logs: {{level: warn}}
    metrics: {{readers: [{{pull: {{exporter: {{prometheus: {{host: 127.0.0.1, port: {metrics}}}}}}}}}]}}
"
    );
    let folder = tempfile::tempdir().unwrap();
    let status = format!("http://127.0.0.1:{health}/status");
    let jaeger = Server::start(&binary, folder.path(), &config, &status);
    let (folder, calls) = record("rust", "test", "5");
    let endpoint = format!("http://127.0.0.1:{http}");
    let output = kperf(folder.path(), &["send", "life.kperf", "--endpoint", &endpoint, "--roots", "run"])
        .output()
        .unwrap();
    let text = stderr(&output);
    // The run has a span too.
    assert_eq!((output.status.code(), table(&text)[4]), (Some(0), calls + 1), "{text}");

    let get = |path: &str| -> Value {
        let body = server::get(&format!("http://127.0.0.1:{query}/api/{path}"));
        serde_json::from_str(&body.unwrap_or_else(|| panic!("no {path}"))).unwrap()
    };
    // Sent and exported spans have the same ids. (Jaeger searches by time too, and the test clock begins in 1970.)
    let exported = ["export", "life.kperf", "--format", "otlp-json", "--roots", "run", "-o", "-"];
    let exported = String::from_utf8(kperf(folder.path(), &exported).output().unwrap().stdout).unwrap();
    let request: Value = serde_json::from_str(exported.lines().next().unwrap()).unwrap();
    let id = request["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["traceId"].as_str().unwrap();
    let trace = get(&format!("traces/{id}"));
    assert_eq!(trace["data"].as_array().unwrap().len(), 1);
    let spans = trace["data"][0]["spans"].as_array().unwrap();
    assert_eq!(spans.len() as u64, calls + 1);
    let replayed = kperf(folder.path(), &["replay", "life.kperf"]).output().unwrap();
    // Functions of the same name have their ids behind it there.
    let replayed = String::from_utf8(replayed.stdout).unwrap();
    let without_id = |part: &str| part.trim_start_matches(|c: char| c.is_ascii_digit()).to_owned();
    let replayed: String = replayed.split(" #").map(without_id).collect();
    let shown = tree(spans);
    // All of it is too much to print where they differ.
    let differs = shown.lines().zip(replayed.lines()).position(|(shown, replayed)| shown != replayed);
    if let Some(line) = differs {
        let cut =
            |text: &str| text.lines().skip(line.saturating_sub(3)).take(8).collect::<Vec<_>>().join("\n");
        panic!("line {line}: Jaeger shows\n{}\nreplay\n{}", cut(&shown), cut(&replayed));
    }
    assert_eq!(shown.lines().count(), replayed.lines().count());
    jaeger.signal(libc::SIGKILL);
}

/// The spans as `replay` prints calls. The test clock counts whole microseconds, which is what Jaeger has.
fn tree(spans: &[Value]) -> String {
    let mut children = BTreeMap::<&str, Vec<&Value>>::new();
    for span in spans {
        let parent = span["references"].as_array().unwrap().first();
        children
            .entry(parent.map_or("", |parent| parent["spanID"].as_str().unwrap()))
            .or_default()
            .push(span);
    }
    for spans in children.values_mut() {
        spans.sort_by_key(|span| span["startTime"].as_u64());
    }
    let roots = &children[""];
    assert_eq!(roots.len(), 1, "the run");
    let mut text = "# DURATION   FUNCTION\n".to_owned();
    for call in &children[roots[0]["spanID"].as_str().unwrap()] {
        print(call, 0, &children, &mut text);
    }
    text
}

fn print(span: &Value, level: usize, children: &BTreeMap<&str, Vec<&Value>>, text: &mut String) {
    use std::fmt::Write;
    let name = span["operationName"].as_str().unwrap();
    let took = duration(span["duration"].as_u64().unwrap());
    let indent = "  ".repeat(level);
    match children.get(span["spanID"].as_str().unwrap()) {
        None => writeln!(text, "{took} | {indent}{name}();").unwrap(),
        Some(calls) => {
            writeln!(text, "{:10} | {indent}{name}() {{", "").unwrap();
            for call in calls {
                print(call, level + 1, children, text);
            }
            writeln!(text, "{took} | {indent}}} /* {name} */").unwrap();
        }
    }
}

fn duration(micros: u64) -> String {
    match micros {
        0..1000 => format!("{micros:>3}.000 us"),
        _ => format!("{:>7.3} ms", micros as f64 / 1000.0),
    }
}
