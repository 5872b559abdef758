//! Metrics and profiles of `run --otlp`: windows as they end, the rest when the guest has.

use super::profiles::{entry, list};
use super::server::{self, Ports, Server};
use super::support::{calls, kperf, module, stderr};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A Collector that takes all three signals and writes them to files.
fn config([http, health]: [u16; 2]) -> String {
    format!(
        "
extensions: {{health_check: {{endpoint: '127.0.0.1:{health}'}}}}
receivers: {{otlp: {{protocols: {{http: {{endpoint: '127.0.0.1:{http}'}}}}}}}}
exporters:
  file/traces: {{path: traces.json, flush_interval: 100ms}}
  file/profiles: {{path: profiles.json, flush_interval: 100ms}}
  file/metrics: {{path: metrics.json, flush_interval: 100ms}}
service:
  extensions: [health_check]
  pipelines:
    traces: {{receivers: [otlp], exporters: [file/traces]}}
    profiles: {{receivers: [otlp], exporters: [file/profiles]}}
    metrics: {{receivers: [otlp], exporters: [file/metrics]}}
  telemetry: {{logs: {{level: warn}}, metrics: {{level: none}}}}
"
    )
}

/// The messages of a file. The Collector may still be writing the last one: then it is awaited.
fn lines(path: &Path) -> Vec<Value> {
    for _ in 0..100 {
        if fs::read_to_string(path).is_ok_and(|text| text.ends_with('\n')) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The sums of the values of a request's profiles, by their kinds, and when the first began.
fn sums(data: &Value) -> (BTreeMap<String, i64>, u64) {
    let mut sums = BTreeMap::new();
    let mut start = 0;
    for profile in list(&data["resourceProfiles"][0]["scopeProfiles"][0]["profiles"]) {
        let kind = entry(&data["dictionary"], "stringTable", &profile["sampleType"]["typeStrindex"]);
        for sample in list(&profile["samples"]) {
            let value: i64 = sample["values"][0].as_str().unwrap().parse().unwrap();
            *sums.entry(kind.as_str().unwrap().to_owned()).or_default() += value;
        }
        start = profile["timeUnixNano"].as_str().unwrap().parse().unwrap();
    }
    (sums, start)
}

#[test]
fn the_collector_gets_windows_as_they_end_and_the_rest_at_the_end() {
    let Some(binary) = server::binary("collector", true) else { return };
    let folder = tempfile::tempdir().unwrap();
    let ports = Ports::<2>::free();
    let gate = ["--feature-gates=+service.profilesSupport"];
    let url = format!("http://127.0.0.1:{}/", ports.numbers[1]);
    let collector = Server::start_with(&binary, &gate, folder.path(), &config(ports.numbers), &url);
    let endpoint = format!("http://127.0.0.1:{}", ports.numbers[0]);
    let trace = tempfile::tempdir().unwrap();
    let life = module("c");
    let run = |more: &[&str], steps: &str| {
        let args =
            ["run", "--trace", "life.kperf", "--otlp", &endpoint, "--signals", "traces,metrics,profiles"];
        let args = [&args[..], more, &["--", life.to_str().unwrap(), steps][..]].concat();
        let output = kperf(trace.path(), &args).output().unwrap();
        let told = stderr(&output);
        assert!(output.status.success(), "{told}");
        for what in ["# spans to", "# points of metrics to", "# profiles to"] {
            assert!(told.contains(what), "{what}: {told}");
        }
        calls(trace.path())
    };
    let of_profile = run(&["--record", "profile", "--every", "100ms"], "40000") as i64;
    let windows = lines(&folder.path().join("profiles.json"));
    let of_trace = run(&["--clock", "precise"], "10") as i64;
    collector.signal(libc::SIGTERM);
    collector.wait();

    assert!(windows.len() >= 2, "{} windows", windows.len());
    let sums_of: Vec<_> = windows.iter().map(sums).collect();
    let starts: Vec<u64> = sums_of.iter().map(|(_, start)| *start).collect();
    // Two requests are on their way at a time.
    let mut sorted = starts.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), starts.len(), "each window has its time: {starts:?}");
    // On a busy machine a window may have none.
    assert_eq!(sums_of.iter().filter_map(|(sums, _)| sums.get("calls")).sum::<i64>(), of_profile);
    let ids: Vec<String> = windows
        .iter()
        .flat_map(|data| list(&data["resourceProfiles"][0]["scopeProfiles"][0]["profiles"]))
        .map(|profile| profile["profileId"].as_str().unwrap().to_owned())
        .collect();
    let mut different = ids.clone();
    different.sort();
    different.dedup();
    assert_eq!(different.len(), ids.len(), "no id comes twice");
    let all = lines(&folder.path().join("profiles.json"));
    assert_eq!(sums(all.last().unwrap()).0["calls"], of_trace);
    let metrics = lines(&folder.path().join("metrics.json"));
    assert_eq!(metrics.len(), 2);
    let spans: usize = lines(&folder.path().join("traces.json"))
        .iter()
        .map(|data| list(&data["resourceSpans"][0]["scopeSpans"][0]["spans"]).len())
        .sum();
    assert!(spans as i64 >= of_trace, "{spans}");
}

/// Nobody takes them: the guest's run is whole, and the user is told how to send the rest.
#[test]
fn a_collector_that_is_away_costs_nothing_but_the_profiles() {
    let trace = tempfile::tempdir().unwrap();
    let life = module("c");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let endpoint = format!("http://127.0.0.1:{port}");
    let args =
        ["run", "--trace", "life.kperf", "--record", "profile", "--otlp", &endpoint, "--signals", "profiles"];
    let mut command = kperf(trace.path(), &[&args[..], &["--", life.to_str().unwrap(), "10"]].concat());
    let mut child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    // It goes on trying for a minute after the end; a signal ends that.
    let pid = child.id().to_string();
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert!(!child.wait().unwrap().success());
    assert!(calls(trace.path()) > 10_000);
}

/// What was allocated is a profile too.
#[test]
fn allocated_bytes_are_those_of_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let module = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/allocations/known.c.wasm");
    let run = |args: &[&str]| {
        let output = kperf(folder.path(), args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    run(&["run", "-q", "--allocations", "--trace", "life.kperf", module]);
    run(&["export", "life.kperf", "--profiles", "--format", "otlp-json", "-o", "ours.json"]);
    let mut total = BTreeMap::new();
    for data in lines(&folder.path().join("ours.json")) {
        for (kind, value) in sums(&data).0 {
            *total.entry(kind).or_insert(0) += value;
        }
    }
    let report = run(&["report", "life.kperf", "--by", "allocation-paths", "--format", "json"]);
    let rows: Vec<Value> = serde_json::from_str(&report).unwrap();
    let figure = |name: &str| rows.iter().map(|row| row[name].as_i64().unwrap()).sum::<i64>();
    assert_eq!(total["alloc_space"], figure("allocated_bytes"));
    assert_eq!(total["alloc_objects"], figure("allocations"));
    assert_eq!(total["calls"] as u64, calls(folder.path()));
}
