//! Records a guest that this program runs itself, and keeps the trace in a file.
//!
//!     cargo run --release -p kperf-wasmtime --example embed -- probed.wasm trace.kperf
//!
//! `kperf-wasm rewrite app.wasm -o probed.wasm` makes the module, `kperf-wasm report trace.kperf` shows the trace.

use kperf_wasmtime::{ClockChoice, Recorder};
use std::fs::File;
use wasmtime::{Config, Engine, Linker, Module, Store};
use wasmtime_wasi::{I32Exit, WasiCtxBuilder, p1};

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let [_, module, trace] = &args[..] else { anyhow::bail!("usage: embed PROBED.wasm TRACE.kperf") };
    record(module, trace)
}

/// Runs a probed WASI command and records its calls.
pub(crate) fn record(module: &str, trace: &str) -> anyhow::Result<()> {
    let bytes = std::fs::read(module)?;

    // 1. An engine that can run the recorder, and a recorder that knows the module's functions by name.
    let mut config = Config::new();
    Recorder::configure(&mut config);
    let engine = Engine::new(&config)?;
    let mut builder = Recorder::builder().clock(ClockChoice::Precise).sink(File::create(trace)?);
    if let Some(table) = kperf_wasmtime::symbols(&bytes) {
        builder = builder.symbols(table);
    }
    let recorder = builder.build(&engine)?;

    // 2. The recorder goes into the store before the guest does: `kperf.enter` and `kperf.leave` are its exports.
    let mut store = Store::new(&engine, WasiCtxBuilder::new().inherit_stdio().arg(module).build_p1());
    let mut linker = Linker::new(&engine);
    p1::add_to_linker_sync(&mut linker, |wasi| wasi)?;
    let lane = recorder.link(&mut store, &mut linker)?;

    // 3. Calls go through the lane, so that a trap or an exit closes the frames that it leaves open.
    let module = Module::new(&engine, &bytes)?;
    let result = lane.call(&mut store, |store| {
        let instance = linker.instantiate(&mut *store, &module)?;
        instance.get_typed_func::<(), ()>(&mut *store, "_start")?.call(store, ())
    });
    let outcome = match &result {
        Err(error) if error.is::<I32Exit>() => "exited".to_owned(),
        Err(error) => format!("failed: {error:#}"),
        Ok(()) => "completed".to_owned(),
    };

    // 4. What is still in the recorder's memory goes to the file, whatever happened.
    let summary = recorder.finish(&outcome)?;
    anyhow::ensure!(summary.dropped_events == 0, "{} events are lost", summary.dropped_events);
    Ok(())
}
