//! A module that runs, and what it has counted.

use crate::differential::argument::argument;
use kperf_abi::names;
use kperf_wasmtime::Recorder;
use wasmtime::{
    Config, Engine, Global, GlobalType, Instance, Linker, Module, Mutability, Store, StoreLimits,
    StoreLimitsBuilder, Trap, Val, ValType,
};
use wasmtime_wasi::p1::{self, WasiP1Ctx};
use wasmtime_wasi::{Deterministic, WasiCtxBuilder};

/// Everything on that wasm-smith makes and wasmtime runs.
pub(crate) fn engine() -> Engine {
    let mut config = Config::new();
    Recorder::configure(&mut config);
    config.wasm_tail_call(true).wasm_multi_memory(true).wasm_memory64(true).wasm_gc(true);
    config.wasm_function_references(true).wasm_exceptions(true).wasm_relaxed_simd(true);
    config.wasm_wide_arithmetic(true).wasm_custom_page_sizes(true);
    config.max_wasm_stack(256 << 10);
    Engine::new(&config).unwrap()
}

/// What a guest sees, which is the same each time.
struct World {
    limits: StoreLimits,
    wasi: WasiP1Ctx,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Returned,
    /// At a place where a region ends: an exception, `unreachable`, a call that isn't possible.
    Left,
    Trapped,
    Overflowed,
}

/// A module in a store of its own.
pub(crate) struct Guest {
    store: Store<World>,
    instance: Instance,
    /// Where it counts if its recorder is beside it.
    beside: Global,
}

impl Guest {
    /// `None`: wasmtime doesn't know what it wants, or it can't be instantiated.
    pub(crate) fn new(engine: &Engine, wasm: &[u8]) -> Option<Guest> {
        let module = Module::new(engine, wasm).ok()?;
        let limits = StoreLimitsBuilder::new().memory_size(64 << 20).table_elements(100_000).build();
        let mut wasi = WasiCtxBuilder::new();
        wasi.secure_random(Deterministic::new(vec![7, 1, 200])).arg("guest");
        let mut store = Store::new(engine, World { limits, wasi: wasi.build_p1() });
        store.limiter(|world| &mut world.limits);
        let mut linker: Linker<World> = Linker::new(engine);
        p1::add_to_linker_sync(&mut linker, |world| &mut world.wasi).unwrap();
        linker.func_wrap(names::HOST_MODULE, names::HOST_FLUSH, |_: i32, _: i32| {}).unwrap();
        let counter = GlobalType::new(ValType::I64, Mutability::Var);
        let beside = Global::new(&mut store, counter, Val::I64(0)).unwrap();
        linker.define(&store, names::MODULE, names::INSTRUCTIONS, beside).unwrap();
        linker.define_unknown_imports_as_default_values(&mut store, &module).ok()?;
        let instance = linker.instantiate(&mut store, &module).ok()?;
        Some(Guest { store, instance, beside })
    }

    /// The names of the functions that it exports.
    pub(crate) fn functions(&mut self) -> Vec<String> {
        let exports = self.instance.exports(&mut self.store);
        let functions = exports.filter(|export| export.clone().into_func().is_some());
        functions.map(|export| export.name().to_owned()).collect()
    }

    /// Calls an export with plain arguments.
    pub(crate) fn call(&mut self, name: &str) -> Option<Outcome> {
        let function = self.instance.get_func(&mut self.store, name)?;
        let ty = function.ty(&self.store);
        let arguments = ty.params().map(|ty| argument(&ty)).collect::<Option<Vec<_>>>()?;
        let mut results = vec![Val::I32(0); ty.results().len()];
        let result = function.call(&mut self.store, &arguments, &mut results);
        // A pending exception would be thrown into the next call.
        let _ = self.store.take_pending_exception();
        Some(match result.map_err(|error| error.downcast_ref::<Trap>().copied()) {
            Ok(()) => Outcome::Returned,
            Err(Some(Trap::StackOverflow)) => Outcome::Overflowed,
            Err(
                None | Some(Trap::UnreachableCodeReached | Trap::IndirectCallToNull | Trap::BadSignature),
            ) => Outcome::Left,
            Err(Some(_)) => Outcome::Trapped,
        })
    }

    /// The value of this global.
    pub(crate) fn count(&mut self, name: &str) -> u64 {
        // A module without functions isn't rewritten.
        let global = self.instance.get_global(&mut self.store, name);
        global.unwrap_or(self.beside).get(&mut self.store).unwrap_i64() as u64
    }
}
