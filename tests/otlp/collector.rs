//! A real OpenTelemetry Collector on free ports. It counts the spans that it takes, and writes them to a file.

use super::server::{self, Ports, Server};
use kperf_otlp::proto::trace::v1::{Span, TracesData};
use prost::Message;
use std::fs::File;
use std::io::{BufReader, Read};
use tempfile::TempDir;

pub struct Collector {
    binary: String,
    folder: TempDir,
    ports: Ports<4>,
    server: Option<Server>,
}

impl Collector {
    /// `None`, with a word on stderr, where there is no Go to build it.
    pub fn start() -> Option<Collector> {
        let mut collector = Collector::stopped()?;
        collector.start_again();
        Some(collector)
    }

    /// One that is not yet there.
    pub fn stopped() -> Option<Collector> {
        let binary = server::binary("collector", true)?;
        let folder = tempfile::tempdir().unwrap();
        Some(Collector { binary, folder, ports: Ports::free(), server: None })
    }

    /// Starts it at the same ports, with the same file.
    pub fn start_again(&mut self) {
        let [http, grpc, health, metrics] = self.ports.numbers;
        let config = format!(
            "
extensions: {{health_check: {{endpoint: '127.0.0.1:{health}'}}}}
receivers:
  otlp: {{protocols: {{http: {{endpoint: '127.0.0.1:{http}'}}, grpc: {{endpoint: '127.0.0.1:{grpc}'}}}}}}
exporters: {{file: {{path: spans.bin, format: proto, append: true, flush_interval: 100ms}}}}
service:
  extensions: [health_check]
  pipelines: {{traces: {{receivers: [otlp], exporters: [file]}}}}
  telemetry:
    logs: {{level: warn}}
    metrics: {{readers: [{{pull: {{exporter: {{prometheus: {{host: 127.0.0.1, port: {metrics}}}}}}}}}]}}
"
        );
        let url = format!("http://127.0.0.1:{health}/");
        self.server = Some(Server::start(&self.binary, self.folder.path(), &config, &url));
    }

    pub fn http(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports.numbers[0])
    }

    pub fn grpc(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports.numbers[1])
    }

    pub fn signal(&self, signal: i32) {
        self.server.as_ref().unwrap().signal(signal);
    }

    /// Ends it by a signal.
    pub fn stop(&mut self, signal: i32) {
        self.signal(signal);
        self.server.take().unwrap().wait();
    }

    /// How many spans its receiver says that it took, since it was started.
    pub fn accepted(&self) -> u64 {
        let metrics =
            server::get(&format!("http://127.0.0.1:{}/metrics", self.ports.numbers[3])).unwrap_or_default();
        let rows = metrics.lines().filter(|line| line.starts_with("otelcol_receiver_accepted_spans"));
        rows.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap() as u64).sum()
    }

    /// Ends it in order, and gives every span in its file to `take`.
    pub fn written(mut self, mut take: impl FnMut(Span)) {
        self.stop(libc::SIGTERM);
        let mut file = BufReader::new(File::open(self.folder.path().join("spans.bin")).unwrap());
        let mut length = [0; 4];
        while file.read_exact(&mut length).is_ok() {
            let mut frame = vec![0; u32::from_be_bytes(length) as usize];
            file.read_exact(&mut frame).unwrap();
            let data = TracesData::decode(&frame[..]).unwrap();
            let scopes = data.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
            scopes.flat_map(|scope| scope.spans).for_each(&mut take);
        }
    }
}
