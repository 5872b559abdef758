//! What sending costs beside the Collector's own time: `cargo bench -p kperf-otlp --features exporter --bench send`.
//!
//! The Game of Life's two million calls go to a real Collector that drops them: from the trace, as `kperf-wasm send` does
//! it, and as the same requests, encoded before, posted by a loop that does nothing else. Both have two connections. In
//! turn, minima. Goal: at most 1.2 times as long. What the Collector counts must be what was sent.
//!
//! Where `benches/otel-sdk` is built, the same spans go through OpenTelemetry's own exporter too, over one connection, as
//! its batch processor sends them. (`cargo build --release --manifest-path benches/otel-sdk/Cargo.toml`)
//!
//! `cargo build --release` makes the program that records the trace; `-- TRACE` takes another trace.
#![allow(missing_docs, unreachable_pub, clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used)]

#[path = "../../../tests/otlp/server.rs"]
#[allow(dead_code)]
mod server;

use kperf_otlp::exporter::{BoxError, Config, Protocol, Sending, Settings, Source, SourceProgress};
use kperf_otlp::{Request, SpanOptions, Spans};
use kperf_trace::TraceReader;
use server::{Ports, Server};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const ROUNDS: usize = 5;

/// Sends all of it, and says how long that took.
type Way<'a> = Box<dyn Fn() -> Duration + 'a>;

fn main() {
    let Some(binary) = server::binary("collector", true) else { return };
    let folder = tempfile::tempdir().unwrap();
    let trace: Arc<[u8]> = std::fs::read(trace(folder.path())).unwrap().into();
    let mut spans = Spans::new(TraceReader::new(&trace[..]).unwrap(), SpanOptions::default());
    let mut requests = Vec::new();
    let begun = Instant::now();
    while let Some(request) = spans.next().unwrap() {
        requests.push(request);
    }
    let encoding = begun.elapsed();
    let count: u64 = requests.iter().map(|request| request.spans).sum();
    let bytes: usize = requests.iter().map(|request| request.body.len()).sum();
    let requests: Arc<[Request]> = requests.into();
    println!("{count} spans in {} requests, {:.1} MB", requests.len(), bytes as f64 / 1e6);

    let ports = Ports::free();
    let [http, grpc, health, metrics] = ports.numbers;
    let config = format!(
        "
extensions: {{health_check: {{endpoint: '127.0.0.1:{health}'}}}}
receivers:
  otlp: {{protocols: {{http: {{endpoint: '127.0.0.1:{http}'}}, grpc: {{endpoint: '127.0.0.1:{grpc}'}}}}}}
exporters: {{nop: {{}}}}
service:
  extensions: [health_check]
  pipelines: {{traces: {{receivers: [otlp], exporters: [nop]}}}}
  telemetry:
    logs: {{level: warn}}
    metrics: {{readers: [{{pull: {{exporter: {{prometheus: {{host: 127.0.0.1, port: {metrics}}}}}}}}}]}}
"
    );
    let _collector = Server::start(&binary, folder.path(), &config, &format!("http://127.0.0.1:{health}/"));
    let accepted = || -> u64 {
        let text = server::get(&format!("http://127.0.0.1:{metrics}/metrics")).unwrap_or_default();
        let rows = text.lines().filter(|line| line.starts_with("otelcol_receiver_accepted_spans"));
        rows.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap() as u64).sum()
    };
    let settings = |protocol, port| Settings {
        endpoint: Some(format!("http://127.0.0.1:{port}")),
        protocol: Some(protocol),
        ..Settings::default()
    };
    let config = |protocol, port| settings(protocol, port).config_in(|_| None).unwrap();
    let (over_http, over_grpc) = (config(Protocol::HttpProtobuf, http), config(Protocol::Grpc, grpc));
    let posted = |requests: &Arc<[Request]>| post(requests, http);
    let whole = |config: &Config| {
        let trace = trace.clone();
        send(config, move || {
            Ok(Spans::new(TraceReader::new(std::io::Cursor::new(trace))?, SpanOptions::default()))
        })
    };
    let encoded = |config: &Config| {
        let requests = requests.clone();
        send(config, move || Ok(Encoded { requests, next: 0 }))
    };
    let sdk = root().join("benches/otel-sdk/target/release/otel-sdk");
    let bodies = folder.path().join("spans.pb");
    std::fs::write(&bodies, requests.iter().flat_map(|request| request.body.clone()).collect::<Vec<u8>>())
        .unwrap();
    let by_sdk = || {
        let output =
            Command::new(&sdk).arg(&bodies).arg(format!("http://127.0.0.1:{http}")).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let seconds = text.trim().strip_prefix(&format!("{count} ")).unwrap_or_else(|| panic!("{text}"));
        Duration::from_secs_f64(seconds.parse().unwrap())
    };
    let mut ways: Vec<(&str, Way<'_>)> = vec![
        ("encoded before, posted by a loop (HTTP)", Box::new(|| posted(&requests))),
        ("encoded before, by the exporter (HTTP)", Box::new(|| encoded(&over_http))),
        ("from the trace (HTTP)", Box::new(|| whole(&over_http))),
        ("encoded before, by the exporter (gRPC)", Box::new(|| encoded(&over_grpc))),
        ("from the trace (gRPC)", Box::new(|| whole(&over_grpc))),
    ];
    if sdk.exists() {
        ways.push(("made before, by OpenTelemetry's SDK (HTTP)", Box::new(by_sdk)));
    }
    let mut best = vec![Duration::MAX; ways.len()];
    for round in 0..ROUNDS {
        for (n, (name, way)) in ways.iter_mut().enumerate() {
            let before = accepted();
            best[n] = best[n].min(way());
            assert_eq!(accepted() - before, count, "{name}, round {round}");
        }
    }
    let rate = |took: Duration| count as f64 / took.as_secs_f64() / 1e6;
    println!("{:45} {:>9} {:>12}   of posting", "", "ms", "M spans/s");
    println!("{:45} {:9.0} {:12.2}", "encoding alone", encoding.as_secs_f64() * 1e3, rate(encoding));
    for ((name, _), took) in ways.iter().zip(&best) {
        let ratio = took.as_secs_f64() / best[0].as_secs_f64();
        println!("{name:45} {:9.0} {:12.2} {ratio:9.2} x", took.as_secs_f64() * 1e3, rate(*took));
    }
}

/// The trace that was named, or a new one.
fn trace(folder: &Path) -> PathBuf {
    if let Some(named) = std::env::args().skip(1).find(|arg| !arg.starts_with('-')) {
        return named.into();
    }
    // Benchmarks are in `target/release/deps`, programs one up.
    let program = std::env::current_exe().unwrap().parent().unwrap().with_file_name("kperf-wasm");
    let mut command = Command::new(program);
    command.arg("run").arg("-q").arg(root().join("examples/game-of-life/rust/life.wasm"));
    assert!(command.args(["--trace", "life.kperf"]).current_dir(folder).status().unwrap().success());
    folder.join("life.kperf")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Requests that are there already.
struct Encoded {
    requests: Arc<[Request]>,
    next: usize,
}

impl Source for Encoded {
    fn next_request(&mut self) -> Result<Option<Request>, BoxError> {
        self.next += 1;
        Ok(self.requests.get(self.next - 1).cloned())
    }

    fn progress(&mut self) -> SourceProgress {
        SourceProgress::default()
    }
}

fn send<S: Source>(config: &Config, open: impl FnOnce() -> Result<S, BoxError> + Send + 'static) -> Duration {
    let begun = Instant::now();
    let delivery = Sending::start(config.clone(), open).unwrap().wait();
    assert!(delivery.is_complete(), "{delivery}");
    begun.elapsed()
}

/// Posts the requests over two connections.
fn post(requests: &[Request], port: u16) -> Duration {
    let next = AtomicUsize::new(0);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut out = TcpStream::connect(("127.0.0.1", port)).unwrap();
                let mut answers = BufReader::new(out.try_clone().unwrap());
                while let Some(request) = requests.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let length = request.body.len();
                    write!(
                        out,
                        "POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-protobuf\r\n\
                         content-length: {length}\r\n\r\n"
                    )
                    .unwrap();
                    out.write_all(&request.body).unwrap();
                    let (mut line, mut rest) = (String::new(), 0);
                    answers.read_line(&mut line).unwrap();
                    assert!(line.contains(" 200 "), "{line}");
                    while line != "\r\n" {
                        line.clear();
                        answers.read_line(&mut line).unwrap();
                        if let Some(length) = line.to_lowercase().strip_prefix("content-length:") {
                            rest = length.trim().parse().unwrap();
                        }
                    }
                    answers.read_exact(&mut vec![0; rest]).unwrap();
                }
            });
        }
    });
    begun.elapsed()
}
