//! A module that is ready to run.

use super::guest::{Guest, Kind, Recording};
use super::imports;
use super::invoke::Entry;
use super::program::Program;
use super::wasi::{Streams, WasiArgs};
use anyhow::Context;
use kperf_abi::SymbolTable;
use kperf_wasmtime::{Inlined, Lane, RecordedStore, Recorder};
use std::path::Path;
use wasmtime::{AsContextMut, Engine, Linker, Module, Store};
use wasmtime_wasi::p1::WasiP1Ctx;

/// The store that a guest runs in, and what it can import.
pub struct Host {
    store: Store<WasiP1Ctx>,
    linker: Linker<WasiP1Ctx>,
}

impl Host {
    /// A host that supplies WASI preview 1.
    pub fn new(
        engine: &Engine,
        wasi: &WasiArgs,
        module: &Path,
        args: &[String],
        streams: &Streams,
    ) -> anyhow::Result<Host> {
        let store = Store::new(engine, wasi.context(module, args, streams)?);
        Ok(Host { store, linker: kperf_wasi::module_linker(engine)? })
    }

    /// Fails if the module imports what the host doesn't supply, and lists it.
    pub fn check_imports(&mut self, guest: &Guest) -> anyhow::Result<()> {
        match &guest.kind {
            Kind::Module { imports, .. } => {
                imports::check(imports, &self.linker, &mut self.store, &guest.path)
            }
            Kind::Component { .. } => Ok(()),
        }
    }
}

/// A module that is ready to run.
pub struct ModuleProgram {
    engine: Engine,
    module: Module,
    entry: Entry,
    linker: Linker<WasiP1Ctx>,
    /// `None` while it changes.
    stage: Option<Stage>,
}

/// Where a module runs.
enum Stage {
    /// In a store without a recorder.
    Plain(Store<WasiP1Ctx>),
    /// In a recorder's store.
    Recorded(RecordedStore<WasiP1Ctx>, Lanes),
}

/// Instantiates a module that has its recorder inside, and calls its function.
pub fn run_inlined(
    host: Host,
    module: &Module,
    entry: &Entry,
    recorder: &Recorder,
) -> anyhow::Result<wasmtime::Result<()>> {
    let Host { store, mut linker } = host;
    let mut store = recorder.recorded_store(store)?;
    let lanes = store.link_inlined(&mut linker)?;
    Ok(lanes.call(&mut store, |store| start(store, &linker, module, entry)))
}

fn start(
    store: &mut impl AsContextMut<Data = WasiP1Ctx>,
    linker: &Linker<WasiP1Ctx>,
    module: &Module,
    entry: &Entry,
) -> wasmtime::Result<()> {
    let instance = linker.instantiate(&mut *store, module)?;
    entry.call(store, instance)
}

/// The recording's side of the store.
enum Lanes {
    /// A recorder module that the guest's probes call.
    Module(Lane),
    /// The guest's own recorders.
    Inlined(Inlined),
}

impl ModuleProgram {
    /// Compiles a module, and finds the function to call.
    pub fn new(
        engine: Engine,
        Host { store, linker }: Host,
        guest: &Guest,
        args: &[String],
        invoke: Option<&str>,
    ) -> anyhow::Result<ModuleProgram> {
        let module = Module::new(&engine, &guest.wasm)
            .map_err(anyhow::Error::from)
            .with_context(|| format!("failed to compile `{}`", guest.path.display()))?;
        let entry = Entry::find(guest, &module, invoke, args)?;
        Ok(ModuleProgram { engine, module, entry, linker, stage: Some(Stage::Plain(store)) })
    }
}

impl Program for ModuleProgram {
    fn engine(&self) -> &Engine {
        &self.engine
    }

    fn link(&mut self, recorder: &Recorder, guest: &Guest) -> anyhow::Result<()> {
        if guest.recording() == Some(Recording::NativeProfile) {
            for table in &guest.symbols {
                recorder.native_code(&self.module, &table.to_bytes())?;
            }
        }
        if let Some(Stage::Plain(store)) = self.stage.take() {
            let mut store = recorder.recorded_store(store)?;
            let lanes = if guest.is_inlined() {
                Lanes::Inlined(store.link_inlined(&mut self.linker)?)
            } else {
                Lanes::Module(recorder.link(&mut store, &mut self.linker)?)
            };
            self.stage = Some(Stage::Recorded(store, lanes));
        }
        Ok(())
    }

    fn perf_map(&self, tables: &[SymbolTable]) -> kperf_wasmtime::Result<()> {
        let table = tables.first().map(SymbolTable::to_bytes);
        Recorder::perf_map(&self.module, table.as_deref())
    }

    fn run(&mut self) -> wasmtime::Result<()> {
        let Self { module, entry, linker, stage, .. } = self;
        match stage {
            Some(Stage::Plain(store)) => start(store, linker, module, entry),
            Some(Stage::Recorded(store, lanes)) => {
                let run = |store: &mut RecordedStore<WasiP1Ctx>| start(store, linker, module, entry);
                match lanes {
                    Lanes::Module(lane) => lane.call(store, run),
                    Lanes::Inlined(lanes) => lanes.call(store, run),
                }
            }
            None => Ok(()),
        }
    }
}
