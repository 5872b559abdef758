//! A host that runs a WASI command. The two lines that are marked record its calls; all else is as it was.
//!
//!     cargo run --release -p kperf-wasmtime --example instrument -- app.wasm app.kperf
//!
//! `kperf-wasm report app.kperf` shows the trace.

use kperf_wasmtime::{InstrumentOptions, instrument};
use wasmtime::{Engine, Linker, Store};
use wasmtime_wasi::{I32Exit, WasiCtxBuilder, p1};

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let [_, module, trace, rest @ ..] = &args[..] else {
        anyhow::bail!("usage: instrument APP.wasm TRACE.kperf [ARGUMENTS]")
    };
    run(module, trace, rest)
}

/// Runs a WASI command that has no probes, and records its calls.
pub(crate) fn run(module: &str, trace: &str, args: &[String]) -> anyhow::Result<()> {
    let bytes = std::fs::read(module)?;
    let engine = Engine::default();
    let mut linker = Linker::new(&engine);
    p1::add_to_linker_sync(&mut linker, |wasi| wasi)?;

    // This was `Module::new(&engine, &bytes)?`.
    let module = instrument(&engine, &bytes, &InstrumentOptions::to_file(trace))?;
    // This was not there.
    module.add_to_linker(&mut linker)?;

    let pre = linker.instantiate_pre(&module)?;
    let wasi = WasiCtxBuilder::new().inherit_stdio().arg("app").args(args).build_p1();
    let mut store = Store::new(&engine, wasi);
    let instance = pre.instantiate(&mut store)?;
    match instance.get_typed_func::<(), ()>(&mut store, "_start")?.call(&mut store, ()) {
        Err(error) if !error.is::<I32Exit>() => Err(error.into()),
        _ => Ok(()),
    }
}
