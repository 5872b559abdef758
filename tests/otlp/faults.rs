//! A Collector that dies, stands still, or isn't there.

use super::collector::Collector;
use super::server::kill;
use super::support::*;
use std::collections::HashSet;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How many spans are acknowledged, at least, when a Collector has its fault.
const ACKNOWLEDGED: u64 = 100_000;
/// What takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Starts sending, with a time limit for answers. A request whose answer is later is counted twice by the Collector.
fn send(folder: &Path, endpoint: &str, limit: Duration, more: &[&str]) -> Child {
    let args = [&["send", "life.kperf", "--endpoint", endpoint], more].concat();
    let mut command = kperf(folder, &args);
    command.env("OTEL_EXPORTER_OTLP_TIMEOUT", limit.as_millis().to_string());
    command.stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits until the Collector has taken so many spans.
fn until(collector: &Collector, spans: u64) {
    let begun = Instant::now();
    while collector.accepted() < spans {
        assert!(begun.elapsed() < PATIENCE, "nothing comes");
        sleep(Duration::from_millis(5));
    }
}

/// A sending that the fault of its Collector came upon.
struct Caught {
    collector: Collector,
    folder: TempDir,
    calls: u64,
    sending: Child,
}

/// Sends to a Collector, which has a fault when it has taken some.
fn catch(protocol: &str, fault: impl Fn(&mut Collector)) -> Option<Caught> {
    for _ in 0..5 {
        let mut collector = Collector::start()?;
        let (folder, calls) = record("rust", "auto", "500");
        let endpoint = if protocol == "grpc" { collector.grpc() } else { collector.http() };
        let mut sending = send(folder.path(), &endpoint, Duration::from_secs(5), &["--protocol", protocol]);
        // Two requests of 10,000 spans may be counted before their answers are read.
        until(&collector, ACKNOWLEDGED + 20_000);
        fault(&mut collector);
        sleep(Duration::from_millis(700));
        if sending.try_wait().unwrap().is_none() {
            return Some(Caught { collector, folder, calls, sending });
        }
        // On a busy machine all may have been sent before the fault came.
        all_acknowledged(&sending.wait_with_output().unwrap(), calls);
    }
    panic!("all was sent before the fault came, five times");
}

#[test]
fn a_collector_that_is_killed_and_started_again_gets_the_rest() {
    let caught = catch("http/protobuf", |collector| collector.stop(libc::SIGKILL));
    let Some(Caught { mut collector, folder: _folder, calls, sending }) = caught else { return };
    collector.start_again();
    let output = sending.wait_with_output().unwrap();
    all_acknowledged(&output, calls);
    assert!(stderr(&output).contains("tried again"), "{}", stderr(&output));
    assert!(collector.accepted() > 0);
}

#[test]
fn a_trace_that_is_sent_again_has_the_same_ids() {
    // It stands still; meanwhile the user loses patience.
    let caught = catch("grpc", |collector| collector.signal(libc::SIGSTOP));
    let Some(Caught { collector, folder, calls, sending }) = caught else { return };
    kill(sending.id(), libc::SIGINT);
    let output = sending.wait_with_output().unwrap();
    collector.signal(libc::SIGCONT);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(130), "{text}");
    let [.., acknowledged, _, _] = table(&text);
    assert!((ACKNOWLEDGED..calls).contains(&acknowledged), "{text}");
    assert!(
        text.ends_with("`kperf-wasm send life.kperf` sends all spans again, with the same ids\n"),
        "{text}"
    );

    let again = send(folder.path(), &collector.grpc(), PATIENCE, &["--protocol", "grpc"]);
    let output = again.wait_with_output().unwrap();
    all_acknowledged(&output, calls);
    let mut ids = HashSet::new();
    collector.written(|span| {
        ids.insert(span.span_id);
    });
    assert_eq!(ids.len() as u64, calls);
}

#[test]
fn what_is_missing_is_told_when_nobody_is_there() {
    let Some(mut collector) = Collector::stopped() else { return };
    let (folder, calls) = record("rust", "auto", "50");
    let begun = Instant::now();
    let output = send(folder.path(), &collector.http(), PATIENCE, &["--give-up-after", "1s"])
        .wait_with_output()
        .unwrap();
    assert!(begun.elapsed() < Duration::from_secs(20));
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    let [expected, elided, dropped, attempted, acknowledged, rejected, failed] = table(&text);
    assert_eq!((expected, elided, acknowledged, rejected), (calls, 0, 0, 0), "{text}");
    assert_eq!((dropped + attempted, attempted), (calls, failed), "{text}");
    assert!(text.contains("Connection refused"), "{text}");

    collector.start_again();
    let output = send(folder.path(), &collector.http(), PATIENCE, &[]).wait_with_output().unwrap();
    all_acknowledged(&output, calls);
    assert_eq!(collector.accepted(), calls);
}

#[test]
fn a_guest_doesn_t_wait_for_a_collector_that_comes_late() {
    let Some(mut collector) = Collector::stopped() else { return };
    let folder = tempfile::tempdir().unwrap();
    let module = module("rust");
    let args = ["run", module.to_str().unwrap(), "--trace", "life.kperf", "--otlp", &collector.grpc()];
    let mut command = kperf(folder.path(), &args);
    command.env("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc").stdout(Stdio::piped()).stderr(Stdio::piped());
    let running = command.spawn().unwrap();
    // The guest ends, which shows in its trace, with nobody there who takes its spans.
    let begun = Instant::now();
    while !ended(folder.path()) {
        assert!(begun.elapsed() < PATIENCE, "the guest waits");
        sleep(Duration::from_millis(20));
    }
    collector.start_again();
    let output = running.wait_with_output().unwrap();
    let calls = calls(folder.path());
    all_acknowledged(&output, calls);
    assert_eq!(collector.accepted(), calls);
}

/// Whether a trace has its end.
fn ended(folder: &Path) -> bool {
    let output = kperf(folder, &["report", "life.kperf", "--format", "json"]).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    report["outcome"] == "completed"
}

/// Ports and protocols that don't fit together, and a Collector that has no profiles.
#[test]
fn the_usual_mistakes_have_a_hint() {
    let Some(collector) = Collector::start() else { return };
    let (folder, _) = record("rust", "auto", "1");
    let https = collector.http().replace("http://", "https://");
    for (endpoint, flags, hint) in [
        (collector.grpc(), &[][..], "give --protocol grpc, or the port for HTTP (4318)"),
        (
            collector.http(),
            &["--protocol", "grpc"][..],
            "remove --protocol grpc, or give the port for gRPC (4317)",
        ),
        (https, &[][..], "is the address http://..?"),
        (collector.http(), &["--signals", "profiles"][..], "--feature-gates=+service.profilesSupport"),
        (
            collector.grpc(),
            &["--protocol", "grpc", "--signals", "profiles"][..],
            "--feature-gates=+service.profilesSupport",
        ),
    ] {
        let flags = [&["--give-up-after", "1s"], flags].concat();
        let output = send(folder.path(), &endpoint, PATIENCE, &flags).wait_with_output().unwrap();
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.contains("hint: ") && text.contains(hint), "{endpoint} {flags:?}: {text}");
    }
}
