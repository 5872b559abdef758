//! A component with probes, from its bytes, in one call.

use super::lanes::LanesByStore;
use super::options::InstrumentOptions;
use super::recordings;
use crate::component::RecordedStore;
use crate::error::{ErrorKind, Result};
use crate::recorder::handle::Recorder;
use kperf_rewriter::RewrittenComponent;
use std::ops::Deref;
use std::sync::Arc;
use wasmtime::component::{Component, Linker};
use wasmtime::{Engine, Store};

/// A compiled component with probes, and the recording that it belongs to. [`instrument_component`] makes it.
///
/// It dereferences to the [`Component`]. The recording ends when all its components, modules, linkers and stores are dropped, or with
/// [`Recorder::finish`].
#[derive(Clone)]
pub struct InstrumentedComponent {
    component: Component,
    /// `None` if it had probes before.
    rewritten: Option<Arc<RewrittenComponent>>,
    lanes: LanesByStore,
}

/// Puts probes into the core modules of a component, compiles it, and adds its functions to the recording of the options.
/// A host changes three lines: this call instead of [`Component::new`], [`InstrumentedComponent::add_to_linker`], and
/// [`InstrumentedComponent::store`] around each store.
///
/// ```
/// use kperf_wasmtime::{InstrumentOptions, instrument_component};
/// use wasmtime::component::Linker;
/// use wasmtime::{Engine, Store};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let trace = folder.path().join("app.kperf");
/// # let wasm = wat::parse_str(
/// #     r#"(component
/// #         (core module $m (func (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1))))
/// #         (core instance $i (instantiate $m))
/// #         (func (export "add") (param "a" u32) (param "b" u32) (result u32) (canon lift (core func $i "add"))))"#,
/// # )?;
/// let engine = Engine::default();
/// let component = instrument_component(&engine, &wasm, &InstrumentOptions::to_file(&trace))?;
///
/// let mut linker = Linker::new(&engine);
/// component.add_to_linker(&mut linker)?;
/// let pre = linker.instantiate_pre(&component)?;
///
/// // For each request; `set_parent` says whose spans its calls are below.
/// let mut store = component.store(Store::new(&engine, ()))?;
/// let (sum,) = store.call(|store| {
///     let instance = pre.instantiate(&mut *store)?;
///     instance.get_typed_func::<(u32, u32), (u32,)>(&mut *store, "add")?.call(&mut *store, (1, 2))
/// })?;
/// assert_eq!(sum, 3);
///
/// drop(store);
/// // The call from outside, which is called `add`, and the core function.
/// assert_eq!(component.recorder().finish("completed")?.events, 4);
/// # Ok(())
/// # }
/// ```
///
/// Stores that are not made by [`InstrumentedComponent::store`] record nothing. Calls of the host's functions are recorded with
/// [`Options::imports`](kperf_rewriter::Options::imports). A component that has probes already is not changed.
///
/// # Errors
///
/// If the bytes are not a component, if it can't have probes, if the engine refuses it, if the trace can't be created, or if the
/// recording is finished.
pub fn instrument_component(
    engine: &Engine,
    wasm: impl AsRef<[u8]>,
    options: &InstrumentOptions,
) -> Result<InstrumentedComponent> {
    let wasm = wasm.as_ref();
    let lanes = recordings::lanes(engine, options)?;
    let rewritten = lanes.modules().rewrite_component(lanes.recorder(), wasm, &options.rewriter)?;
    let probed = rewritten.as_ref().map_or(wasm, |rewritten| &rewritten.wasm);
    let component = Component::new(engine, probed).map_err(|error| ErrorKind::Compile(error.into()))?;
    Ok(InstrumentedComponent { component, rewritten: rewritten.map(Arc::new), lanes })
}

impl InstrumentedComponent {
    /// Defines the imports of components' recorders. Once is enough for all components of a recording; more do no harm.
    ///
    /// # Errors
    ///
    /// If other code has defined `kperf:host/recorder` there, or if memories of the engine may move when they grow.
    pub fn add_to_linker<T: 'static>(&self, linker: &mut Linker<T>) -> Result<()> {
        // A name that no other recording has. If the linker knows it, it has the rest too.
        let mark = format!("kperf lanes {:x}", self.lanes.address());
        if linker.root().func_wrap(&mark, |_, ()| Ok(())).is_err() {
            return Ok(());
        }
        self.recorder().add_to_component_linker(linker)
    }

    /// Wraps a store, so that its components of this recording are recorded: see [`RecordedStore`]. Each instance of a component with
    /// core modules is a lane of the trace.
    ///
    /// # Errors
    ///
    /// If the store belongs to another engine than the recording.
    pub fn store<T: 'static>(&self, store: Store<T>) -> Result<RecordedStore<T>> {
        self.recorder().recorded_store(store)
    }

    /// The recording: to end it, or for its counts.
    pub fn recorder(&self) -> &Recorder {
        self.lanes.recorder()
    }

    /// What became of each function. `None` if the component had its probes before.
    pub fn rewritten(&self) -> Option<&RewrittenComponent> {
        self.rewritten.as_deref()
    }
}

impl Deref for InstrumentedComponent {
    type Target = Component;

    fn deref(&self) -> &Component {
        &self.component
    }
}

impl AsRef<Component> for InstrumentedComponent {
    fn as_ref(&self) -> &Component {
        &self.component
    }
}
