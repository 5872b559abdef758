//! A real Collector takes profiles, behind its feature gate, and writes what it has understood.

use super::server::{self, Ports, Server};
use super::support::{kperf, record, stderr};
use kperf_otlp::proto::collector::profiles::v1development::ExportProfilesServiceRequest;
use prost::Message;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// An entry of a table; 0 stands for an index that is left out. Fails if there is none.
pub fn entry(dictionary: &Value, table: &str, index: &Value) -> Value {
    let entry = &dictionary[table][index.as_u64().unwrap_or(0) as usize];
    assert!(!entry.is_null(), "{table} has no entry {index}");
    entry.clone()
}

/// A list; an empty one is left out.
pub fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

/// Each path of calls and its value, by the kind of value, in OTLP's JSON.
fn values(data: &Value) -> BTreeMap<(String, String), i64> {
    let entry = |table: &str, index: &Value| entry(&data["dictionary"], table, index);
    let string = |index: &Value| entry("stringTable", index).as_str().unwrap().to_owned();
    let mut values = BTreeMap::new();
    for profile in list(&data["resourceProfiles"][0]["scopeProfiles"][0]["profiles"]) {
        let kind = string(&profile["sampleType"]["typeStrindex"]);
        for sample in list(&profile["samples"]) {
            let stack = entry("stackTable", &sample["stackIndex"]);
            let name = |location: &Value| {
                let location = entry("locationTable", location);
                let function = entry("functionTable", &location["lines"][0]["functionIndex"]);
                string(&function["nameStrindex"])
            };
            let path: Vec<String> = list(&stack["locationIndices"]).iter().rev().map(name).collect();
            let value = sample["values"][0].as_str().unwrap().parse().unwrap();
            assert_eq!(values.insert((kind.clone(), path.join(";")), value), None);
        }
    }
    values
}

/// How many ports it has.
pub const CONFIG_PORTS: usize = 3;

/// A Collector that takes profiles and metrics and writes them to files.
pub fn config([http, grpc, health]: [u16; CONFIG_PORTS]) -> String {
    format!(
        "
extensions: {{health_check: {{endpoint: '127.0.0.1:{health}'}}}}
receivers:
  otlp: {{protocols: {{http: {{endpoint: '127.0.0.1:{http}'}}, grpc: {{endpoint: '127.0.0.1:{grpc}'}}}}}}
exporters:
  file/profiles: {{path: profiles.json, flush_interval: 100ms}}
  file/metrics: {{path: metrics.json, flush_interval: 100ms}}
service:
  extensions: [health_check]
  pipelines:
    profiles: {{receivers: [otlp], exporters: [file/profiles]}}
    metrics: {{receivers: [otlp], exporters: [file/metrics]}}
  telemetry: {{logs: {{level: warn}}, metrics: {{level: none}}}}
"
    )
}

#[test]
fn the_collector_understands_profiles_and_metrics() {
    let Some(binary) = server::binary("collector", true) else { return };
    let folder = tempfile::tempdir().unwrap();
    let ports = Ports::<3>::free();
    let [http, grpc, health] = ports.numbers;
    let gate = ["--feature-gates=+service.profilesSupport"];
    let url = format!("http://127.0.0.1:{health}/");
    let collector = Server::start_with(&binary, &gate, folder.path(), &config(ports.numbers), &url);

    let (trace, calls) = record("rust", "ticker", "5");
    let run = |args: &[&str]| {
        let output = kperf(trace.path(), args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        stderr(&output)
    };
    run(&["export", "life.kperf", "--profiles", "--format", "otlp-json", "-o", "life.json"]);
    let ours = fs::read_to_string(trace.path().join("life.json")).unwrap();
    let ours = values(&serde_json::from_str(&ours).unwrap());
    for (port, protocol) in [(http, "http/protobuf"), (grpc, "grpc")] {
        let endpoint = format!("http://127.0.0.1:{port}");
        let signals = ["--signals", "metrics,profiles", "--endpoint", &endpoint, "--protocol", protocol];
        let told = run(&[&["send", "life.kperf"], &signals[..]].concat());
        assert!(told.contains("# points of metrics to") && told.contains("# profiles to"), "{told}");
    }
    collector.signal(libc::SIGTERM);
    collector.wait();

    let read = |name: &str| -> Vec<Value> {
        let text = fs::read_to_string(folder.path().join(name)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let profiles = read("profiles.json");
    assert_eq!(profiles.len(), 2);
    for profile in &profiles {
        let written = values(profile);
        assert_eq!(written, ours);
        let counted = written.iter().filter(|((kind, _), _)| kind == "calls").map(|(_, &count)| count as u64);
        assert_eq!(counted.sum::<u64>(), calls);
    }
    let metrics = read("metrics.json");
    assert_eq!(metrics.len(), 2);
    for metric in &metrics {
        let points = &metric["resourceMetrics"][0]["scopeMetrics"][0]["metrics"][0]["sum"]["dataPoints"];
        let counts = points.as_array().unwrap().iter().map(|point| point["asInt"].as_str().unwrap());
        assert_eq!(counts.map(|count| count.parse::<u64>().unwrap()).sum::<u64>(), calls);
    }
}

/// The sums of a file's samples, by the kind of value. Fails if a sample leads outside of the dictionary.
fn sums(file: &[u8]) -> BTreeMap<String, i64> {
    let data = ExportProfilesServiceRequest::decode(file).unwrap();
    let dictionary = data.dictionary.unwrap();
    let mut sums = BTreeMap::new();
    let mut stacks = BTreeSet::new();
    for profile in &data.resource_profiles[0].scope_profiles[0].profiles {
        let kind = &dictionary.string_table[profile.sample_type.unwrap().type_strindex as usize];
        for sample in &profile.samples {
            let stack = dictionary.stack_table[sample.stack_index as usize].location_indices.clone();
            assert!(stack.iter().all(|&location| (location as usize) < dictionary.location_table.len()));
            assert!(stacks.insert((kind.clone(), stack)), "a path is there twice");
            *sums.entry(kind.clone()).or_default() += sample.values[0];
        }
    }
    sums
}

/// More paths than a request to a Collector may have.
#[test]
fn a_file_of_many_paths_has_them_all_with_one_dictionary() {
    let folder = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        let output = kperf(folder.path(), args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        output
    };
    let functions: String = (0..8_000).map(|n| format!("(func $f{n} (call $leaf))")).collect();
    let calls: String = (0..8_000).map(|n| format!("(call $f{n})")).collect();
    let module = format!("(module (func $leaf) {functions} (func (export \"main\") {calls}))");
    fs::write(folder.path().join("many.wat"), module).unwrap();
    run(&["run", "many.wat", "--clock", "instructions", "--invoke", "main", "--trace", "many.kperf", "-q"]);
    run(&["export", "many.kperf", "--format", "otlp", "--profiles", "-o", "many.otlp"]);
    let sums = sums(&fs::read(folder.path().join("many.otlp")).unwrap());
    let report: Value =
        serde_json::from_slice(&run(&["report", "many.kperf", "--format", "json"]).stdout).unwrap();
    assert_eq!(sums["calls"], 16_001);
    let own =
        report["functions"].as_array().unwrap().iter().map(|f| f["self_instructions"].as_i64().unwrap());
    assert_eq!(sums["instructions"], own.sum::<i64>());

    // Instructions are no nanoseconds.
    let data = ExportProfilesServiceRequest::decode(&fs::read(folder.path().join("many.otlp")).unwrap()[..])
        .unwrap();
    let profile = &data.resource_profiles[0].scope_profiles[0].profiles[0];
    assert_eq!(profile.duration_nano, 0);
    assert!(profile.time_unix_nano > 0);
}

#[test]
fn the_example_s_configuration_is_one() {
    let Some(binary) = server::binary("collector", true) else { return };
    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/fleet/collector.yaml");
    let output = std::process::Command::new(binary)
        .args(["validate", "--config", config, "--feature-gates=+service.profilesSupport"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
}
