//! The examples for embedders whose guests' calls go to a Collector, a real one: every span arrives, with tokio and without.
//!
//! They take minutes to compile, for all that WASI has. So `cargo test` leaves them out; `cargo test --release --test embed_otlp` and
//! `KPERF_TESTS=all scripts/test` run them. Without Go they are skipped, and say so.

#![allow(clippy::print_stderr, clippy::unwrap_used, missing_docs, unreachable_pub)]

#[path = "otlp/collector.rs"]
#[allow(dead_code)]
mod collector;
#[path = "otlp/server.rs"]
#[allow(dead_code)]
mod server;
#[path = "otlp/support.rs"]
#[allow(dead_code)]
mod support;

use crate::collector::Collector;
use crate::support::*;
use embed::record;
use kperf_otlp::exporter::{Config, Settings};
use std::net::SocketAddr;
use std::path::Path;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[path = "../examples/embed-otlp/main.rs"]
#[allow(dead_code)]
mod embed;
#[path = "../examples/serve-component/main.rs"]
#[allow(dead_code)]
mod serve;

fn config(collector: &Collector) -> Config {
    let settings = Settings { endpoint: Some(collector.http()), ..Settings::default() };
    settings.config_in(|_| None).unwrap()
}

#[test]
fn an_embedder_s_calls_arrive() {
    let Some(collector) = Collector::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let probed = folder.path().join("probed.wasm");
    let args =
        ["rewrite", module("rust").to_str().unwrap(), "-o", probed.to_str().unwrap()].map(str::to_owned);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    assert!(kperf(folder.path(), &args).status().unwrap().success());
    let probed = probed.to_str().unwrap();

    let delivery = record(probed, config(&collector)).unwrap().wait();
    assert!(delivery.is_complete() && delivery.acknowledged > 2_000_000, "{delivery}");
    assert_eq!(collector.accepted(), delivery.acknowledged);

    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let sending = record(probed, config(&collector)).unwrap();
    let again = runtime.block_on(sending.wait_async());
    assert!(again.is_complete(), "{again}");
    assert_eq!(collector.accepted(), delivery.acknowledged + again.acknowledged);
}

/// Asks for a path, with the header `traceparent` or without; the answer's status and body.
async fn ask(server: SocketAddr, path: &str, parent: Option<String>) -> (u16, String) {
    let mut stream = TcpStream::connect(server).await.unwrap();
    let parent = parent.map(|parent| format!("traceparent: {parent}\r\n")).unwrap_or_default();
    // In HTTP/1.0 the answer ends with the connection, and comes in one piece.
    let request = format!("GET {path} HTTP/1.0\r\nhost: {server}\r\n{parent}\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// Each request has the header `traceparent`, or has none.
#[test]
fn what_answers_a_request_is_below_the_caller_s_span() {
    let Some(collector) = Collector::start() else { return };
    let wasm = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/components/http.wasm");
    let (trace, parent) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let delivery = runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (done, end) = tokio::sync::oneshot::channel::<()>();
        let wasm = std::fs::read(wasm).unwrap();
        let collector = config(&collector);
        let serving = tokio::spawn(async move {
            serve::serve(&wasm, listener, collector, async { drop(end.await) }).await.unwrap()
        });
        let asked = |flags: &str| Some(format!("00-{trace}-{parent}-{flags}"));
        assert_eq!(ask(address, "/fibonacci/5", asked("01")).await, (200, "5\n".into()));
        assert_eq!(ask(address, "/fibonacci/7", asked("00")).await, (200, "13\n".into()), "it isn't sampled");
        assert_eq!(ask(address, "/fibonacci/5", None).await, (200, "5\n".into()));
        assert_eq!(ask(address, "/panic", None).await.0, 500);
        done.send(()).unwrap();
        serving.await.unwrap().wait_async().await
    });
    assert!(delivery.is_complete(), "{delivery}");
    let mut handled = Vec::new();
    let mut fibonaccis = 0;
    collector.written(|span| {
        fibonaccis += usize::from(span.name.ends_with("::fibonacci"));
        if span.name.starts_with("wasi:http/incoming-handler@0.2.") {
            let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
            handled.push((hex(&span.trace_id) == trace, hex(&span.parent_span_id)));
        }
    });
    handled.sort();
    let none = (false, String::new());
    assert_eq!(handled, [none.clone(), none, (true, parent.to_owned())]);
    assert_eq!(fibonaccis, 2 * 8, "of the two that are sampled; every other call is a loop");
}
