//! Runs a guest and, meanwhile, sends its calls to an OpenTelemetry Collector, without a trace file.
//!
//!     cargo run --release --example embed-otlp -- probed.wasm
//!
//! `kperf-wasm rewrite app.wasm -o probed.wasm` makes the module; `OTEL_EXPORTER_OTLP_ENDPOINT` says where the Collector is.

use kperf_otlp::SpanOptions;
use kperf_otlp::exporter::{self, Config, Sending, Settings};
use kperf_wasmtime::Recorder;
use wasmtime::{Engine, Linker, Module, Store};
use wasmtime_wasi::{WasiCtxBuilder, p1};

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let [_, module] = &args[..] else { anyhow::bail!("usage: embed-otlp PROBED.wasm") };
    // In an asynchronous program: `.wait_async().await`, under any runtime.
    let delivery = record(module, Settings::default().config()?)?.wait();
    anyhow::ensure!(delivery.is_complete(), "not every span was acknowledged\n{delivery}");
    Ok(())
}

/// Runs a probed WASI command whose calls leave as spans; they may still be on their way when it has ended.
pub(crate) fn record(module: &str, collector: Config) -> anyhow::Result<Sending> {
    let bytes = std::fs::read(module)?;
    let mut config = wasmtime::Config::new();
    Recorder::configure(&mut config);
    let engine = Engine::new(&config)?;

    // The recorder writes its trace to the sink; threads of the sink's own read it and send.
    let (sink, sending) = exporter::sink(collector, SpanOptions::default())?;
    let mut builder = Recorder::builder().sink(sink);
    if let Some(table) = kperf_wasmtime::symbols(&bytes) {
        builder = builder.symbols(table);
    }
    let recorder = builder.build(&engine)?;

    let mut store = Store::new(&engine, WasiCtxBuilder::new().inherit_stdio().arg(module).build_p1());
    let mut linker = Linker::new(&engine);
    p1::add_to_linker_sync(&mut linker, |wasi| wasi)?;
    let lane = recorder.link(&mut store, &mut linker)?;
    let module = Module::new(&engine, &bytes)?;
    lane.call(&mut store, |store| {
        let instance = linker.instantiate(&mut *store, &module)?;
        instance.get_typed_func::<(), ()>(&mut *store, "_start")?.call(store, ())
    })?;
    // This ends the trace, and with it the spans.
    recorder.finish("completed")?;
    Ok(sending)
}
