//! A module that is ready to run.

use super::guest::{Guest, Kind, Recording};
use super::imports;
use super::invoke::Entry;
use super::program::Program;
use super::wasi::{Streams, WasiArgs};
use anyhow::Context;
use kperf_wasmtime::{Inlined, Lane, Recorder};
use std::path::Path;
use wasmtime::{Engine, Linker, Module, Store};
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
    host: Host,
    entry: Entry,
    lanes: Option<Lanes>,
}

/// Instantiates a module that has its recorder inside, and calls its function.
pub fn run_inlined(
    host: Host,
    module: &Module,
    entry: &Entry,
    recorder: &Recorder,
) -> anyhow::Result<wasmtime::Result<()>> {
    let Host { mut store, mut linker } = host;
    let lanes = recorder.link_inlined(&mut store, &mut linker)?;
    Ok(lanes.call(&mut store, |store| {
        let instance = linker.instantiate(&mut *store, module)?;
        entry.call(store, instance)
    }))
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
        host: Host,
        guest: &Guest,
        args: &[String],
        invoke: Option<&str>,
    ) -> anyhow::Result<ModuleProgram> {
        let module = Module::new(&engine, &guest.wasm)
            .map_err(anyhow::Error::from)
            .with_context(|| format!("failed to compile `{}`", guest.path.display()))?;
        let entry = Entry::find(guest, &module, invoke, args)?;
        Ok(ModuleProgram { engine, module, host, entry, lanes: None })
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
        let Host { store, linker } = &mut self.host;
        self.lanes = Some(if guest.is_inlined() {
            Lanes::Inlined(recorder.link_inlined(store, linker)?)
        } else {
            Lanes::Module(recorder.link(store, linker)?)
        });
        Ok(())
    }

    fn run(&mut self) -> wasmtime::Result<()> {
        let Self { module, host: Host { store, linker }, entry, lanes, .. } = self;
        let run = |store: &mut Store<WasiP1Ctx>| {
            let instance = linker.instantiate(&mut *store, module)?;
            entry.call(store, instance)
        };
        match lanes {
            Some(Lanes::Module(lane)) => lane.call(store, run),
            Some(Lanes::Inlined(lanes)) => lanes.call(store, run),
            None => run(store),
        }
    }
}
