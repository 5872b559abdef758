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
/// It dereferences to the [`Module`], so it goes wherever one is wanted. The recording ends when all its modules, linkers and stores are
/// gone, or with [`Recorder::finish`].
#[derive(Clone)]
pub struct Instrumented {
    module: Module,
    /// `None` if it had probes before.
    rewritten: Option<Arc<Rewritten>>,
    lanes: LanesByStore,
}

/// Puts probes into a module, compiles it, and makes its functions known to the recording that the options name. A host has two more
/// lines: this one instead of [`Module::new`], and [`Instrumented::add_to_linker`].
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
/// Any engine will do, with any allocator, synchronous or asynchronous: the probes call host functions. Each store that has an event is
/// a lane of the trace.
///
/// Function ids follow from the module's bytes and the options. So the same module has the same ids in each run, and the cache of the
/// engine finds it compiled. Modules of a recording never share ids, in whatever order they come.
///
/// A module that has probes already (`kperf-wasm rewrite`) stays as it is.
///
/// # Errors
///
/// If the bytes are no module, if probes can't be put into it, if the engine refuses it, if the trace can't be begun, if the recording
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
    /// This is for probes that the module imports, which is the default. Modules that have their recorder inside need
    /// [`Recorder::link_inlined`] for each store instead; [`recorder`](Self::recorder) has it.
    ///
    /// # Errors
    ///
    /// If somebody else has defined `kperf.*` there, or if the module has its recorder inside.
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

    /// Calls the guest by `call`. If that fails, it closes the frames that the guest opened: see
    /// [`HostLane::call`]. Without it they stay open until their store is dropped, which is soon if each request has a store. Else calls
    /// that come later seem to be made by them.
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

    /// [`call`](Self::call) for asynchronous calls. The time in which the call waits is told as a call of `[suspended]`: see
    /// [`HostLane::call_async`]. Without it that time is the guest's.
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

    /// Lets `act` work on a store's lane: to set a parent, or to say that this store isn't recorded.
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

    /// The recording: to end it, or to ask how it is getting on.
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
