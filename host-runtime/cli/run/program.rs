//! A guest that is ready to run: what modules and components have in common.

use super::guest::Guest;
use anyhow::Context;
use kperf_abi::SymbolTable;
use kperf_wasmtime::Recorder;
use std::num::NonZeroUsize;
use wasmtime::{Cache, Config, Engine, Inlining};

/// Twice wasmtime's usual 512 KiB: a probe keeps its token in the frame, and a deep recursion that fits without probes
/// should fit with them.
const STACK: usize = 1 << 20;
/// How many frames a trap's backtrace has at most.
pub const FRAMES: usize = 50;

/// A guest that is ready to run.
pub trait Program {
    fn engine(&self) -> &Engine;

    /// Supplies what the guest's probes import.
    fn link(&mut self, recorder: &Recorder, guest: &Guest) -> anyhow::Result<()>;

    /// Gives the compiled functions' names to other profilers.
    fn perf_map(&self, tables: &[SymbolTable]) -> kperf_wasmtime::Result<()>;

    /// Instantiates the guest and calls its function.
    fn run(&mut self) -> wasmtime::Result<()>;
}

/// Whether compiled modules are taken from wasmtime's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UseCache {
    Yes,
    No,
}

/// The engine that guests run in, with all of wasmtime's proposals on. The key of wasmtime's cache is a hash of the module and of every
/// setting that changes the code. For a component, calls of other core modules are compiled into their callers where these are small, and
/// so the recorder's usual case.
pub fn engine(cache: UseCache, guest: &Guest) -> anyhow::Result<Engine> {
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
    if guest.is_component() {
        config.compiler_inlining(Inlining::InterModule);
        // Without it each call of the host's costs half.
        config.concurrency_support(guest.is_concurrent());
    }
    if cache == UseCache::Yes {
        // Without a home folder, or if the cache's configuration can't be read, modules are compiled each time.
        config.cache(Cache::from_file(None).ok());
    }
    Engine::new(&config).map_err(anyhow::Error::from).context("failed to set up wasmtime")
}
