//! A module with probes, from its bytes, in one call.

#[cfg(feature = "component-model")]
mod component;
mod lanes;
mod modules;
mod options;
mod recordings;

use crate::error::{ErrorKind, Result};
use crate::link::host_functions;
use crate::link::host_lane::FindLane;
use crate::link::host_lane::{self, HostLane};
use crate::recorder::handle::Recorder;
use crate::recorder::symbols::symbols;
#[cfg(feature = "component-model")]
pub use component::{InstrumentedComponent, instrument_component};
use kperf_abi::names;
use kperf_rewriter::Rewritten;
use lanes::LanesByStore;
pub use options::InstrumentOptions;
use std::ops::Deref;
use std::sync::Arc;
use wasmtime::{AsContextMut, Engine, Linker, Module};

/// A compiled module with probes, and the recording that it belongs to. [`instrument`] makes it.
///
/// It dereferences to the [`Module`]. The recording ends when all its modules, linkers and stores are dropped, or with
/// [`Recorder::finish`].
#[derive(Clone)]
pub struct Instrumented {
    module: Module,
    /// `None` if it had probes before.
    rewritten: Option<Arc<Rewritten>>,
    lanes: LanesByStore,
}

/// Puts probes into a module, compiles it, and adds its functions to the recording of the options. A host changes two lines: this
/// call instead of [`Module::new`], and [`Instrumented::add_to_linker`].
///
/// ```
/// use kperf_wasmtime::{InstrumentOptions, instrument};
/// use wasmtime::{Engine, Linker, Store};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let trace = folder.path().join("app.kperf");
/// # let wasm = wat::parse_str(r#"(module (func $g) (func (export "f") (call $g)))"#)?;
/// let engine = Engine::default();
/// let module = instrument(&engine, &wasm, &InstrumentOptions::to_file(&trace))?;
///
/// let mut linker = Linker::new(&engine);
/// module.add_to_linker(&mut linker)?;
/// let pre = linker.instantiate_pre(&module)?;
///
/// let mut store = Store::new(&engine, ());
/// let instance = pre.instantiate(&mut store)?;
/// instance.get_typed_func::<(), ()>(&mut store, "f")?.call(&mut store, ())?;
///
/// drop(store);
/// assert_eq!(module.recorder().finish("completed")?.events, 4);
/// # Ok(())
/// # }
/// ```
///
/// Works with any engine and allocator, synchronous or asynchronous: the probes call host functions. Each store with an event is
/// a lane of the trace.
///
/// Function ids are computed from the module's bytes and the options. So a module has the same ids in each run, and the engine's cache
/// finds it compiled. Modules of a recording never share ids, whatever their order.
///
/// A module that has probes already is not changed.
///
/// # Errors
///
/// If the bytes are not a module, if it can't have probes, if the engine refuses it, if the trace can't be created, or if the recording
/// is finished.
pub fn instrument(
    engine: &Engine,
    wasm: impl AsRef<[u8]>,
    options: &InstrumentOptions,
) -> Result<Instrumented> {
    let wasm = wasm.as_ref();
    let lanes = recordings::lanes(engine, options)?;
    let rewritten = lanes.modules().rewrite(lanes.recorder(), wasm, &options.rewriter)?;
    let probed = rewritten.as_ref().map_or(wasm, |rewritten| &rewritten.wasm);
    let module = Module::new(engine, probed).map_err(|error| ErrorKind::Compile(error.into()))?;
    if crate::is_native(&module)
        && let Some(table) = symbols(probed)
    {
        lanes.recorder().native_code(&module, table)?;
    }
    Ok(Instrumented { module, rewritten: rewritten.map(Arc::new), lanes })
}

impl Instrumented {
    /// Defines `kperf.*` in a linker. Once is enough for all modules of a recording; more do no harm.
    ///
    /// This is for imported probes, the default. Modules that have their recorder inside need
    /// [`Recorder::link_inlined`] for each store instead, through [`recorder`](Self::recorder).
    ///
    /// # Errors
    ///
    /// If other code has defined `kperf.*` there, or if the module has its recorder inside.
    pub fn add_to_linker<T: 'static>(&self, linker: &mut Linker<T>) -> Result<()> {
        if crate::is_inlined(&self.module) {
            return Err(ErrorKind::RecorderInside.into());
        }
        // A name that no other recording has. If the linker knows it, it has the rest too.
        let mark = format!("lanes {:x}", self.lanes.address());
        if linker.func_wrap(names::MODULE, &mark, || ()).is_err() {
            return Ok(());
        }
        host_functions::define(linker, self.lanes.clone())
    }

    /// Calls the guest through `call`. If that fails, closes the frames that the guest opened: see
    /// [`HostLane::call`]. Without it they stay open until their store is dropped, and later calls of that store appear as their
    /// children.
    ///
    /// # Errors
    ///
    /// What `call` returns, unchanged.
    pub fn call<S: AsContextMut<Data: 'static>, R>(
        &self,
        store: &mut S,
        call: impl FnOnce(&mut S) -> wasmtime::Result<R>,
    ) -> wasmtime::Result<R> {
        host_lane::call_in(&self.lanes, store, call)
    }

    /// [`call`](Self::call) for asynchronous calls. The time in which the call waits becomes a call of `[suspended]`: see
    /// [`HostLane::call_async`]. Without it that time counts as the guest's.
    ///
    /// # Errors
    ///
    /// What `call` returns, unchanged.
    pub async fn call_async<S: AsContextMut<Data: 'static>, R>(
        &self,
        store: &mut S,
        call: impl AsyncFnOnce(&mut S) -> wasmtime::Result<R>,
    ) -> wasmtime::Result<R> {
        host_lane::call_async_in(&self.lanes, store, call).await
    }

    /// Calls `act` with a store's lane: to set a parent, or not to record this store.
    ///
    /// ```
    /// # use kperf_wasmtime::{Instrumented, TraceContext};
    /// # use wasmtime::Store;
    /// fn begin(module: &Instrumented, store: &mut Store<()>, traceparent: &str) {
    ///     module.lane(store, |lane| lane.set_parent(TraceContext::parse(traceparent, "").ok()));
    /// }
    /// ```
    pub fn lane<R>(
        &self,
        store: impl AsContextMut<Data: 'static>,
        act: impl FnOnce(&mut HostLane) -> R,
    ) -> R {
        self.lanes.with(store, act)
    }

    /// The recording: to end it, or for its counts.
    pub fn recorder(&self) -> &Recorder {
        self.lanes.recorder()
    }

    /// What became of each function. `None` if the module had its probes before.
    pub fn rewritten(&self) -> Option<&Rewritten> {
        self.rewritten.as_deref()
    }
}

impl Deref for Instrumented {
    type Target = Module;

    fn deref(&self) -> &Module {
        &self.module
    }
}

impl AsRef<Module> for Instrumented {
    fn as_ref(&self) -> &Module {
        &self.module
    }
}
