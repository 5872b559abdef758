//! The guest, and the host that it runs in.

use super::component::is_concurrent;
use super::module::Prepared;
use super::wasi::WasiArgs;
use anyhow::Context;
use kperf_abi::names;
use kperf_wasmtime::{Inlined, Lane, Recorder, is_inlined, is_native, is_profile};
use std::num::NonZeroUsize;
use std::path::Path;
use wasmtime::{Cache, Config, Engine, ExternType, Inlining, Instance, Linker, Module, Store};
use wasmtime_wasi::p1::WasiP1Ctx;

/// Twice wasmtime's usual 512 KiB: a probe keeps its token in the frame, and a deep recursion that fits without probes
/// should fit with them.
const STACK: usize = 1 << 20;
/// How many frames a trap's backtrace has at most.
pub const FRAMES: usize = 50;

/// A compiled module.
pub struct Guest {
    pub engine: Engine,
    pub module: Module,
    /// Whether it runs by being instantiated.
    pub has_start: bool,
}

/// The store that a guest runs in, and what it can import.
pub struct Host {
    pub store: Store<WasiP1Ctx>,
    pub linker: Linker<WasiP1Ctx>,
}

impl Guest {
    /// The engine that guests run in, with all of wasmtime's proposals on. `cached`: whether compiled modules are taken from
    /// wasmtime's cache, where the key is a hash of the module and of every setting that changes the code. For a component, calls of
    /// other core modules are compiled into their callers where these are small, and so the recorder's usual case.
    pub fn engine(cached: bool, wasm: &[u8]) -> anyhow::Result<Engine> {
        let mut config = Config::new();
        Recorder::configure(&mut config);
        config
            .max_wasm_stack(STACK)
            .wasm_backtrace_max_frames(NonZeroUsize::new(FRAMES))
            .wasm_custom_page_sizes(true)
            .wasm_exceptions(true)
            .wasm_function_references(true)
            .wasm_gc(true)
            .wasm_memory64(true)
            .wasm_relaxed_simd(true)
            .wasm_tail_call(true)
            .wasm_wide_arithmetic(true);
        if kperf_rewriter::is_component(wasm) {
            config.compiler_inlining(Inlining::InterModule);
            // Without it each call of the host's costs half.
            config.concurrency_support(is_concurrent(wasm));
        }
        if cached {
            // Without a home folder, or if the cache's configuration can't be read, modules are compiled each time.
            config.cache(Cache::from_file(None).ok());
        }
        Engine::new(&config).map_err(anyhow::Error::from).context("failed to set up wasmtime")
    }

    /// Compiles a module.
    pub fn compile(engine: Engine, prepared: &Prepared, path: &Path) -> anyhow::Result<Guest> {
        let module = Module::new(&engine, &prepared.wasm)
            .map_err(anyhow::Error::from)
            .with_context(|| format!("failed to compile `{}`", path.display()))?;
        Ok(Guest { engine, module, has_start: prepared.has_start })
    }

    /// The names of the functions that the module exports, without the recorder's.
    pub fn functions(&self) -> impl Iterator<Item = &str> {
        self.module
            .exports()
            .filter(|export| matches!(export.ty(), ExternType::Func(_)))
            .map(|export| export.name())
            .filter(|name| !name.starts_with(names::EXPORT_PREFIX))
    }

    /// Whether the module contains its recorder.
    pub fn is_inlined(&self) -> bool {
        is_inlined(&self.module)
    }

    /// Whether the module has probes of any form.
    pub fn is_probed(&self) -> bool {
        self.module.imports().any(|import| names::is_of_probes(import.module(), import.name()))
    }

    /// Whether the module's probes make a profile.
    pub fn is_profile(&self) -> bool {
        is_profile(&self.module)
    }

    /// Whether they make a profile from the thread's own stack.
    pub fn is_native(&self) -> bool {
        is_native(&self.module)
    }
}

/// The recording's side of the store.
pub enum Lanes {
    /// A recorder module that the guest's probes call.
    Module(Lane),
    /// The guest's own recorders.
    Inlined(Inlined),
}

impl Host {
    /// A host that supplies WASI preview 1.
    pub fn new(engine: &Engine, wasi: &WasiArgs, module: &Path, args: &[String]) -> anyhow::Result<Host> {
        let store = Store::new(engine, wasi.context(module, args)?);
        Ok(Host { store, linker: kperf_wasi::module_linker(engine)? })
    }

    /// Fails if the module imports what nobody supplies, and lists it.
    pub fn check_imports(&mut self, wasm: &[u8], path: &Path) -> anyhow::Result<()> {
        super::imports::check(wasm, &self.linker, &mut self.store, path)
    }

    /// Supplies what the guest's probes import.
    pub fn link(&mut self, guest: &Guest, recorder: &Recorder) -> kperf_wasmtime::Result<Lanes> {
        let (store, linker) = (&mut self.store, &mut self.linker);
        Ok(if guest.is_inlined() {
            Lanes::Inlined(recorder.link_inlined(store, linker)?)
        } else {
            Lanes::Module(recorder.link(store, linker)?)
        })
    }

    /// Instantiates the guest and passes the instance to `call`.
    pub fn run(
        &mut self,
        guest: &Guest,
        lanes: Option<&Lanes>,
        call: impl FnOnce(&mut Store<WasiP1Ctx>, Instance) -> wasmtime::Result<()>,
    ) -> wasmtime::Result<()> {
        let linker = &self.linker;
        let run = |store: &mut Store<WasiP1Ctx>| {
            let instance = linker.instantiate(&mut *store, &guest.module)?;
            call(store, instance)
        };
        match lanes {
            Some(Lanes::Module(lane)) => lane.call(&mut self.store, run),
            Some(Lanes::Inlined(lanes)) => lanes.call(&mut self.store, run),
            None => run(&mut self.store),
        }
    }
}
