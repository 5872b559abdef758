//! The example for embedders gives the same guarantees, with tokio and without.

use crate::collector::Collector;
use crate::support::*;
use bytes::Bytes;
use example::record;
use http_body_util::{BodyExt, Empty};
use hyper::Request;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use kperf_otlp::exporter::{Config, Settings};
use std::path::Path;

#[path = "../../examples/embed-otlp/main.rs"]
#[allow(dead_code)]
mod example;

#[path = "../../examples/serve-component/main.rs"]
#[allow(dead_code)]
mod server;

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
            server::serve(&wasm, listener, collector, async { drop(end.await) }).await.unwrap()
        });
        let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
        let ask = |path: &str, header: Option<String>| {
            let mut request = Request::get(format!("http://{address}{path}"));
            if let Some(header) = header {
                request = request.header("traceparent", header);
            }
            let response = client.request(request.body(Empty::new()).unwrap());
            async move {
                let response = response.await.unwrap();
                let status = response.status();
                (status.as_u16(), response.into_body().collect().await.unwrap().to_bytes())
            }
        };
        let asked = |flags: &str| Some(format!("00-{trace}-{parent}-{flags}"));
        assert_eq!(ask("/fibonacci/5", asked("01")).await, (200, "5\n".into()));
        assert_eq!(ask("/fibonacci/7", asked("00")).await, (200, "13\n".into()), "it isn't sampled");
        assert_eq!(ask("/fibonacci/5", None).await, (200, "5\n".into()));
        assert_eq!(ask("/panic", None).await.0, 500);
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
