//! The example for embedders gives the same guarantees, with tokio and without.

use crate::collector::Collector;
use crate::support::*;
use example::record;
use kperf_otlp::exporter::{Config, Settings};

#[path = "../../examples/embed-otlp/main.rs"]
#[allow(dead_code)]
mod example;

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
