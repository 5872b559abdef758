//! Runs a guest, and adds each file of its trace to a dataset as soon as that is complete.
//!
//!     cargo run --release --example embed-dataset -- probed.wasm traces fleet
//!
//! `kperf-wasm rewrite app.wasm -o probed.wasm` makes the module; `kperf-wasm report fleet` reads the dataset.

use kperf_dataset::{Account, Background, Labels, Options};
use kperf_wasmtime::{Recorder, Rotation};
use std::path::Path;
use wasmtime::{Engine, Linker, Module, Store};
use wasmtime_wasi::{WasiCtxBuilder, p1};

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let [_, module, traces, dataset] = &args[..] else {
        anyhow::bail!("usage: embed-dataset PROBED.wasm TRACES DATASET")
    };
    // A file every 64 MiB.
    let account = record(module, Path::new(traces), Path::new(dataset), Rotation::by_size(64 << 20))?;
    anyhow::ensure!(account.failed == 0, "not every file is in the dataset");
    Ok(())
}

/// Runs a probed WASI command whose trace is written to files in `traces`, and waits until they are in the dataset.
pub(crate) fn record(
    module: &str,
    traces: &Path,
    dataset: &Path,
    rotation: Rotation,
) -> anyhow::Result<Account> {
    let bytes = std::fs::read(module)?;
    let mut config = wasmtime::Config::new();
    Recorder::configure(&mut config);
    let engine = Engine::new(&config)?;

    // A thread adds what is recorded. What can't be added stays in its file.
    let labels = Labels { service: Some("shop".into()), version: Some("1.2".into()), ..Labels::default() };
    let fleet = Background::start(dataset, Options { labels, ..Options::default() }, |trace, added| {
        if let Err(error) = added {
            tell(&format!("{}: {error}", trace.display()));
        }
    })?;
    // Each file is added when the next one is written, and the last when the recording ends.
    let folder = traces.to_owned();
    let files = fleet.files();
    let open = move |number| files.create(folder.join(format!("shop.{number}.kperf")));
    let mut builder = Recorder::builder().rotate(rotation, open);
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
    recorder.finish("completed")?;
    // Only who wants to know waits.
    Ok(fleet.finish())
}

/// Says something on stderr.
#[allow(clippy::print_stderr, reason = "an example's own output")]
fn tell(text: &str) {
    eprintln!("{text}");
}
