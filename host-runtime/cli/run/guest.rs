//! The guest, and the host that it runs in.

use super::invoke::Entry;
use super::module::Prepared;
use super::wasi::WasiArgs;
use anyhow::{Context, bail};
use kperf_abi::names;
use kperf_wasmtime::{Inlined, Lane, Recorder, is_inlined, is_native, is_profile};
use std::num::NonZeroUsize;
use std::path::Path;
use wasmtime::{Config, Engine, ExternType, Linker, Module, Store};
use wasmtime_wasi::p1::{self, WasiP1Ctx};

/// A probe keeps its token in the frame: where a deep recursion just fits wasmtime's usual 512 KiB, it shall fit with
/// probes too.
const STACK: usize = 1 << 20;
/// How many frames a trap's backtrace has at most.
pub const FRAMES: usize = 50;

/// A compiled module.
pub struct Guest {
    pub engine: Engine,
    pub module: Module,
    pub entry: Entry,
    /// Whether it runs by being instantiated.
    pub has_start: bool,
}

/// The store it runs in, and what it can import.
pub struct Host {
    pub store: Store<WasiP1Ctx>,
    pub linker: Linker<WasiP1Ctx>,
}

impl Guest {
    /// Compiles a module, with every proposal on that wasmtime has.
    pub fn compile(prepared: &Prepared, path: &Path) -> anyhow::Result<Guest> {
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
        let engine =
            Engine::new(&config).map_err(anyhow::Error::from).context("failed to set up wasmtime")?;
        let module = Module::new(&engine, &prepared.wasm)
            .map_err(anyhow::Error::from)
            .with_context(|| format!("failed to compile `{}`", path.display()))?;
        Ok(Guest { engine, module, entry: Entry::default(), has_start: prepared.has_start })
    }

    /// What the module exports as functions.
    pub fn functions(&self) -> impl Iterator<Item = &str> {
        self.module
            .exports()
            .filter(|export| matches!(export.ty(), ExternType::Func(_)))
            .map(|export| export.name())
            .filter(|name| !name.starts_with(names::EXPORT_PREFIX))
    }

    /// Whether its recorder is inside.
    pub fn is_inlined(&self) -> bool {
        is_inlined(&self.module)
    }

    /// Whether it has any probes.
    pub fn is_probed(&self) -> bool {
        let ours = [names::MODULE, names::HOST_MODULE];
        self.module.imports().any(|import| ours.contains(&import.module()))
    }

    /// Whether that makes a profile.
    pub fn is_profile(&self) -> bool {
        is_profile(&self.module)
    }

    /// Whether it keeps no stack for that.
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
    pub fn new(guest: &Guest, wasi: &WasiArgs, module: &Path, args: &[String]) -> anyhow::Result<Host> {
        let store = Store::new(&guest.engine, wasi.context(module, args)?);
        let mut linker = Linker::new(&guest.engine);
        p1::add_to_linker_sync(&mut linker, |wasi| wasi)?;
        Ok(Host { store, linker })
    }

    /// Fails with a list of what the module wants and nobody supplies.
    pub fn check_imports(&mut self, guest: &Guest, path: &Path) -> anyhow::Result<()> {
        let mut missing = Vec::new();
        for import in guest.module.imports() {
            if [names::MODULE, names::HOST_MODULE].contains(&import.module()) {
                continue;
            }
            let text = match self.linker.get(&mut self.store, import.module(), import.name()) {
                Ok(supplied) if fits(&supplied.ty(&self.store), &import.ty()) => continue,
                Ok(_) => format!("`{}.{}` (of another type)", import.module(), import.name()),
                Err(_) => format!("`{}.{}` ({})", import.module(), import.name(), kind(&import.ty())),
            };
            if !missing.contains(&text) {
                missing.push(text);
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        let count = missing.len();
        bail!(
            "`{}` imports what is not there: {}{}; `run` supplies WASI preview 1 only, `rewrite` makes a module for a host \
             of your own",
            path.display(),
            missing[..count.min(20)].join(", "),
            if count > 20 { format!(" and {} more", count - 20) } else { String::new() },
        )
    }

    /// Supplies what the guest's probes want.
    pub fn link(&mut self, guest: &Guest, recorder: &Recorder) -> kperf_wasmtime::Result<Lanes> {
        let (store, linker) = (&mut self.store, &mut self.linker);
        Ok(if guest.is_inlined() {
            Lanes::Inlined(recorder.link_inlined(store, linker)?)
        } else {
            Lanes::Module(recorder.link(store, linker)?)
        })
    }

    /// Instantiates the guest and calls what is to be called.
    pub fn run(&mut self, guest: &Guest, lanes: Option<&Lanes>) -> wasmtime::Result<()> {
        let linker = &self.linker;
        let run = |store: &mut Store<WasiP1Ctx>| {
            let instance = linker.instantiate(&mut *store, &guest.module)?;
            guest.entry.call(store, instance)
        };
        match lanes {
            Some(Lanes::Module(lane)) => lane.call(&mut self.store, run),
            Some(Lanes::Inlined(lanes)) => lanes.call(&mut self.store, run),
            None => run(&mut self.store),
        }
    }
}

/// Whether what is supplied is what is wanted. WASI supplies functions only.
fn fits(supplied: &ExternType, wanted: &ExternType) -> bool {
    match (supplied, wanted) {
        (ExternType::Func(supplied), ExternType::Func(wanted)) => supplied.matches(wanted),
        _ => false,
    }
}

fn kind(ty: &ExternType) -> &'static str {
    match ty {
        ExternType::Func(_) => "function",
        ExternType::Global(_) => "global",
        ExternType::Memory(_) => "memory",
        ExternType::Table(_) => "table",
        ExternType::Tag(_) => "tag",
    }
}
