//! The handle of a recording.

use crate::builder::Builder;
use crate::error::Result;
use crate::host_functions;
use crate::host_lane::HostLane;
use crate::inlined::Inlined;
use crate::lane::Lane;
use crate::link::{Linking, failed};
use crate::recording::Recording;
use kperf_abi::word::Reason;
use kperf_trace::Summary;
use std::sync::Arc;
use wasmtime::{AsContextMut, Config, Instance, Linker, Module};

/// Records the calls of probed modules into one trace. Cheap to clone; all clones are the same recording.
///
/// When every handle and every lane is gone without [`finish`](Recorder::finish), the trace is still written to its end.
#[derive(Clone)]
pub struct Recorder {
    pub(crate) recording: Arc<Recording>,
}

impl Recorder {
    /// Begins to describe a recording.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Turns on what [`link`](Recorder::link) and [`link_inlined`](Recorder::link_inlined) need of an engine: threads and shared memories, since the recorder's memory
    /// is read from other threads, and several memories. Host functions need nothing.
    pub fn configure(config: &mut Config) {
        config.wasm_threads(true).shared_memory(true).wasm_multi_memory(true);
    }

    /// Puts the recorder module into a store and defines `kperf.*` in the linker for it. Instantiate probed modules after
    /// that: their start sections are recorded too. They may be several; they share the lane.
    ///
    /// The definitions belong to the store. For another store take another linker, or a clone from before this call.
    /// Fuel, epochs and a `ResourceLimiter` see the recorder as guest code: it takes one instance, a few units of fuel an
    /// event, and its memory of 128 KiB is not counted.
    ///
    /// # Errors
    ///
    /// When the engine lacks what [`configure`](Recorder::configure) turns on, when the store is another engine's or wants
    /// asynchronous calls, when the linker has `kperf.*` already, when the recording is finished.
    pub fn link<T: 'static>(
        &self,
        mut store: impl AsContextMut<Data = T>,
        linker: &mut Linker<T>,
    ) -> Result<Lane> {
        let linking = Linking::prepare(&self.recording, &mut store)?;
        let instance = Instance::new(&mut store, linking.module(), linking.imports()).map_err(failed)?;
        linking.define(store, linker, instance)
    }

    /// [`link`](Recorder::link) for stores that want asynchronous calls. (Guests may be called asynchronously in any
    /// store; a store wants it when it yields by fuel or epochs or has an asynchronous limiter.)
    ///
    /// # Errors
    ///
    /// As for [`link`](Recorder::link).
    pub async fn link_async<T: Send + 'static>(
        &self,
        mut store: impl AsContextMut<Data = T>,
        linker: &mut Linker<T>,
    ) -> Result<Lane> {
        let linking = Linking::prepare(&self.recording, &mut store)?;
        let instance =
            Instance::new_async(&mut store, linking.module(), linking.imports()).await.map_err(failed)?;
        linking.define(store, linker, instance)
    }

    /// Defines `kperf:host.*` in the linker, for modules that have their recorder inside. Each instance of them is a lane of
    /// its own, from its first event on.
    ///
    /// The definitions belong to the store. Fuel, epochs and a `ResourceLimiter` see the recorder as a part of the guest: it
    /// takes a memory of 128 KiB in each instance. The pooling allocator has no shared memories: compile modules with
    /// imported probes there.
    ///
    /// # Errors
    ///
    /// When the store is another engine's, when the linker has `kperf:host.*` already, when the recording is finished.
    pub fn link_inlined<T: 'static>(
        &self,
        store: impl AsContextMut<Data = T>,
        linker: &mut Linker<T>,
    ) -> Result<Inlined> {
        Inlined::link(&self.recording, store, linker)
    }

    /// Tells where the functions of a module are that counts its calls and keeps no stack (`rewrite --record profile --stack
    /// native`); say it before the module is instantiated. `table` is its symbol table, as for [`symbols`](Recorder::symbols).
    ///
    /// Which calls are open is found on the stack of the thread that instantiates it, which is interrupted by `SIGPROF` for
    /// that: an instance stays on its thread, and a thread has one instance of a module at a time. Asynchronous calls run
    /// on stacks of their own, where that doesn't work. The handler stays for as long as the process does. System calls of
    /// host functions are restarted where the kernel does that (`sleep` and `poll` return early).
    ///
    /// # Errors
    ///
    /// Elsewhere than on Linux on x86-64 ([`HAS_NATIVE_STACKS`](crate::HAS_NATIVE_STACKS)), when somebody else handles
    /// `SIGPROF`, when the bytes are no symbol table.
    pub fn native_code(&self, module: &Module, table: &[u8]) -> Result<()> {
        self.recording.add_code(module, table)
    }

    /// Defines `kperf.*` as host functions, once for all stores: for `InstancePre`, pooling, a store for each request.
    /// `lane` finds the [`HostLane`] in a store's data. With a precise clock they cost what the recorder module costs; with
    /// a ticker the module is cheaper.
    ///
    /// # Errors
    ///
    /// When the linker has `kperf.*` already.
    pub fn add_to_linker<T: 'static>(
        &self,
        linker: &mut Linker<T>,
        lane: impl Fn(&mut T) -> &mut HostLane + Copy + Send + Sync + 'static,
    ) -> Result<()> {
        host_functions::define(linker, lane)
    }

    /// A lane for the data of one store. After the recording is finished it records nothing.
    pub fn host_lane(&self) -> HostLane {
        HostLane::new(&self.recording)
    }

    /// Adds the symbol table of a module that was not known when the recorder was built: the bytes of its custom section
    /// `kperf.symbols`.
    ///
    /// # Errors
    ///
    /// When the bytes are no symbol table, or its ids are another's.
    pub fn symbols(&self, table: impl Into<Vec<u8>>) -> Result<()> {
        self.recording.add_symbols(table.into())
    }

    /// Ends the recording: collects what every lane still holds, also where the store is gone, closes the frames that
    /// are open as unfinished, and waits until all is written. What guests do after that is not recorded. `outcome` says
    /// how the program ended: `completed`, `exit 3`, `trap: ...`.
    ///
    /// # Errors
    ///
    /// When the trace could not be written to its end, with the number of events that are missing; when the recording is
    /// finished already.
    pub fn finish(&self, outcome: &str) -> Result<Summary> {
        self.recording.end(Reason::Unfinished, outcome)
    }

    /// [`finish`](Recorder::finish) from any thread while guests still run, as a thread that handles signals does: open
    /// frames are closed as interrupted. The guests go on, unrecorded.
    ///
    /// # Errors
    ///
    /// As for [`finish`](Recorder::finish).
    pub fn interrupt(&self, outcome: &str) -> Result<Summary> {
        self.recording.end(Reason::Interrupted, outcome)
    }
}
