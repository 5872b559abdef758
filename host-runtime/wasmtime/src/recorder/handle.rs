//! The handle of a recording.

use super::pool::{self, PoolProbes};
#[cfg(feature = "component-model")]
use crate::component::{self, RecordedStore};
use crate::error::{ErrorKind, Result};
use crate::keep::Keeps;
use crate::lanes::lane::Lane;
use crate::link::host_functions;
use crate::link::host_lane::HostLane;
use crate::link::host_lane::InData;
use crate::link::inlined::Inlined;
use crate::link::module::{Linking, failed};
use crate::outlet::queue::{Message, Wanted};
use crate::outlet::stats::Stats;
use crate::recording::Recording;
use crate::writer;
use kperf_abi::word::Reason;
use kperf_trace::Summary;
use std::path::Path;
use std::sync::{Arc, mpsc};
use wasmtime::{AsContextMut, Config, Instance, Linker, Module, PoolingAllocationConfig};

/// Records the calls of probed modules into one trace. Cheap to clone; all clones are the same recording.
///
/// If all handles and lanes are dropped without [`finish`](Recorder::finish), the trace is still written to its end.
#[derive(Clone)]
pub struct Recorder {
    pub(crate) recording: Arc<Recording>,
}

impl Recorder {
    /// Turns on what [`link`](Recorder::link) and [`link_inlined`](Recorder::link_inlined) need of an engine: several memories,
    /// threads, and shared memories, since other threads read the recorder's memory. Host functions need none of these.
    ///
    /// Branch hints are turned on too: with them a probe inside a module costs a tenth to a quarter less. They only affect the layout
    /// of code, but wasmtime 48 has them off until it has fuzzed them, and the engine follows those of all its modules. For modules
    /// that are not trusted, call `config.wasm_branch_hinting(false)` after this.
    pub fn configure(config: &mut Config) {
        config.wasm_threads(true).shared_memory(true).wasm_multi_memory(true).wasm_branch_hinting(true);
    }

    /// Raises the limits of a pool by what probes need, so that as many instances have room as before:
    ///
    /// | limit | more |
    /// |---|---|
    /// | `total_memories` | one for each core instance of the limit, and for each recorder in a component |
    /// | `max_memories_per_module` | 1 |
    /// | `max_memories_per_component` | 1 for each recorder |
    /// | `max_memory_size` | at least 1 MiB and 8 bytes for each function, rounded up to 64 KiB |
    /// | `total_core_instances`, `max_core_instances_per_component` | 3 for each recorder in a component |
    /// | `max_core_instance_size` | 4 KiB, and 16 bytes for each function (`OwnCount`) |
    /// | `max_component_instance_size` | 4 KiB for each recorder |
    ///
    /// A profile takes a memory in each instance, a trace of a component does too. A trace by host functions
    /// ([`add_to_linker`](Recorder::add_to_linker)) takes only the larger core instance.
    ///
    /// ```
    /// # use kperf_wasmtime::{PoolProbes, Recorder};
    /// # use wasmtime::{Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};
    /// # fn main() -> wasmtime::Result<()> {
    /// let mut pool = PoolingAllocationConfig::new();
    /// pool.total_core_instances(16).total_memories(16).max_memory_size(10 << 20);
    /// Recorder::configure_pool(&mut pool, PoolProbes { functions: 5000, recorders: 0 });
    /// assert_eq!((pool.get_total_memories(), pool.get_max_memories_per_module()), (32, 2));
    /// let mut config = Config::new();
    /// config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    /// # Engine::new(&config)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn configure_pool(pool: &mut PoolingAllocationConfig, probes: PoolProbes) {
        pool::raise(pool, probes);
    }

    /// Puts the recorder module into a store and defines `kperf.*` in the linker for it. Instantiate probed modules after
    /// that; their start sections are recorded too. Several modules may share the store, and then share the lane.
    ///
    /// The definitions belong to the store. For another store take another linker, or a clone from before this call.
    /// Fuel, epochs and a `ResourceLimiter` see the recorder as guest code: it takes one instance and a few units of fuel an
    /// event. Its memory of 128 KiB is not counted.
    ///
    /// # Errors
    ///
    /// If the engine lacks what [`configure`](Recorder::configure) turns on, if the store belongs to another engine or wants
    /// asynchronous calls, if the linker has `kperf.*` already, if the recording is finished.
    pub fn link<T: 'static>(
        &self,
        mut store: impl AsContextMut<Data = T>,
        linker: &mut Linker<T>,
    ) -> Result<Lane> {
        let linking = Linking::prepare(&self.recording, &mut store)?;
        let instance = Instance::new(&mut store, linking.module(), linking.imports()).map_err(failed)?;
        linking.define(store, linker, instance)
    }

    /// [`link`](Recorder::link) for a store that needs asynchronous calls. (A store needs them if it yields by fuel or epochs, or has
    /// an asynchronous limiter. Any store allows them.)
    ///
    /// # Errors
    ///
    /// If the engine lacks what [`configure`](Recorder::configure) turns on, if the store belongs to another engine, if the
    /// linker has `kperf.*` already, if the recording is finished.
    pub async fn link_async<T: Send + 'static>(
        &self,
        mut store: impl AsContextMut<Data = T>,
        linker: &mut Linker<T>,
    ) -> Result<Lane> {
        let linking = Linking::prepare(&self.recording, &mut store)?;
        let instance =
            Instance::new_async(&mut store, linking.module(), linking.imports()).await.map_err(failed)?;
        let lane = linking.define(store, linker, instance)?;
        lane.core.set_async();
        Ok(lane)
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

    /// Adds a module's compiled code, so that samples find its functions on native stacks. Modules rewritten for native stacks
    /// (they count calls and keep no stack) need this before they are instantiated. `table` is the module's symbol table, as for
    /// [`symbols`](Recorder::symbols).
    ///
    /// Samples find the open calls on the stack of the thread that instantiated the module; `SIGPROF` interrupts that thread.
    /// So an instance must stay on its thread, and a thread may have one instance of a module at a time. It doesn't work for
    /// asynchronous calls, which run on stacks of their own. Then calls are only counted, without times; the trace and
    /// [`Notice::CountsOnly`](crate::Notice::CountsOnly) say why, and the guest runs normally. The signal's handler stays until the
    /// process ends. The kernel restarts system calls of host functions if it can (`sleep` and `poll` return early).
    ///
    /// A module's forms, which have the same ids, are one module here: samples find the functions of the form that was added last.
    /// The first call in a process takes some five milliseconds, on this thread: it measures what a sample costs, which is no
    /// function's time.
    ///
    /// # Errors
    ///
    /// If this isn't Linux on x86-64 ([`HAS_NATIVE_STACKS`](crate::HAS_NATIVE_STACKS)), if other code handles `SIGPROF`, or if
    /// the bytes are not a symbol table.
    pub fn native_code(&self, module: &Module, table: &[u8]) -> Result<()> {
        self.recording.add_code(module, table)
    }

    /// Defines `kperf.*` as host functions, once for all stores: for `InstancePre`, pooling, a store for each request.
    /// `lane` finds the [`HostLane`] in a store's data. With a precise clock they cost what the recorder module costs; with
    /// a ticker the module is cheaper.
    ///
    /// # Errors
    ///
    /// When the linker has `kperf.*` already, or instructions are the clock: these are counted inside of modules.
    pub fn add_to_linker<T: 'static>(
        &self,
        linker: &mut Linker<T>,
        lane: impl Fn(&mut T) -> &mut HostLane + Copy + Send + Sync + 'static,
    ) -> Result<()> {
        self.recording.check_process()?;
        self.recording.check_clock_beside()?;
        host_functions::define(linker, InData(lane))
    }

    /// A lane for the data of one store. After the recording is finished it records nothing.
    pub fn host_lane(&self) -> HostLane {
        HostLane::new(&self.recording)
    }

    /// Defines what components with probes import, once for all stores. The components must run in stores that [`recorded_store`](Recorder::recorded_store) makes; in others they record nothing.
    ///
    /// # Errors
    ///
    /// When the linker has the instance `kperf:host/recorder` already, or memories of the engine may move when they grow.
    #[cfg(feature = "component-model")]
    pub fn add_to_component_linker<T: 'static>(
        &self,
        linker: &mut wasmtime::component::Linker<T>,
    ) -> Result<()> {
        component::define(&self.recording, linker)
    }

    /// Defines `kperf:host.flush`, once for all stores, for modules that make a profile with what only their instances own: rewritten
    /// for `kperf_rewriter::Recording::OwnProfile` or `OwnCount`. They may be pre-instantiated (`InstancePre`) and come from a pool
    /// ([`configure_pool`](Recorder::configure_pool)). Instances in stores from [`recorded_store`](Recorder::recorded_store) are
    /// recorded, unless their parent isn't sampled when they are instantiated; others run unrecorded. For `OwnCount` see
    /// [`native_code`](Recorder::native_code).
    ///
    /// # Errors
    ///
    /// If the linker has `kperf:host.flush` already.
    #[cfg(feature = "component-model")]
    pub fn add_profiles_to_linker<T: 'static>(&self, linker: &mut Linker<T>) -> Result<()> {
        component::define_modules(&self.recording, linker)
    }

    /// Wraps a store for components with probes. Each instance of a component with core modules, nested ones too, is a lane, from
    /// its instantiation on.
    ///
    /// # Errors
    ///
    /// If the store belongs to another engine.
    #[cfg(feature = "component-model")]
    pub fn recorded_store<T: 'static>(&self, store: wasmtime::Store<T>) -> Result<RecordedStore<T>> {
        RecordedStore::new(&self.recording, store)
    }

    /// Adds the symbol table of a module that was not known when the recorder was built: the bytes of its custom section
    /// `kperf.symbols`.
    ///
    /// # Errors
    ///
    /// If the bytes are not a symbol table, or if another table has the same ids.
    pub fn symbols(&self, table: impl Into<Vec<u8>>) -> Result<()> {
        self.recording.add_symbols(table.into())
    }

    /// The recording's counts so far. Takes a lock or two, and at most a microsecond.
    pub fn stats(&self) -> Stats {
        self.recording.stats()
    }

    /// Writes the events that a flight recorder keeps ([`Builder::keep`](crate::Builder::keep)) to a file, up to now, and waits until it
    /// is there. The recording goes on. From a guest's own thread it blocks that guest: see [`request_dump`](Recorder::request_dump).
    ///
    /// # Errors
    ///
    /// If the recorder keeps nothing, if the file can't be written (then there is none, or the old one), if the recording is
    /// finished, or if the recorder's own thread calls it, which reports notices: the dump would wait for itself.
    pub fn dump(&self, path: impl AsRef<Path>) -> Result<()> {
        self.recording.check_open()?;
        if self.recording.keeps == Keeps::Nothing {
            return Err(ErrorKind::KeepsNothing.into());
        }
        if std::thread::current()
            .name()
            .is_some_and(|name| [writer::THREAD, writer::keep::THREAD].contains(&name))
        {
            return Err(ErrorKind::OwnThread.into());
        }
        let (done, written) = mpsc::channel();
        let path = path.as_ref().to_owned();
        self.recording.outlet.queue.send(Message::Dump(Wanted::At(path, done)));
        match written.recv() {
            Ok(written) => written.map_err(|error| ErrorKind::Dump(error).into()),
            // The writer has ended.
            Err(_) => Err(ErrorKind::Finished.into()),
        }
    }

    /// Asks for the next dump at the path of [`Keep::to`](crate::Keep::to), with the reason, and doesn't wait for it. It begins at once, or
    /// a second after the last one began. What is asked for before that is one dump, with the first reason. [`finish`](Recorder::finish) waits for it.
    ///
    /// # Errors
    ///
    /// If the recorder keeps nothing or has no path, or if the recording is finished.
    pub fn request_dump(&self, why: &str) -> Result<()> {
        self.recording.check_open()?;
        if self.recording.keeps != Keeps::Numbered {
            return Err(ErrorKind::KeepsNothing.into());
        }
        self.recording.outlet.queue.send(Message::Dump(Wanted::Numbered(why.to_owned())));
        Ok(())
    }

    /// Ends the recording: collects the last block of every lane, even if the store is dropped, closes open frames as
    /// unfinished, and waits until all is written, or the sink has taken nothing for a while
    /// ([`Builder::give_up_after`](crate::Builder::give_up_after)). Later calls are not recorded. `outcome` says how the program
    /// ended: `completed`, `exit 3`, `trap: ...`.
    ///
    /// # Errors
    ///
    /// If a write has failed (the error says how many events are lost; the others are in the trace, if its end could be written),
    /// or if the recording is finished already. Events that had no room in the queue are not an error:
    /// [`Summary::dropped_events`] counts all lost events.
    pub fn finish(&self, outcome: &str) -> Result<Summary> {
        self.recording.end(Reason::Unfinished, outcome)
    }

    /// Ends the recording while guests still run, from any thread, such as a signal handler's. As
    /// [`finish`](Recorder::finish), but closes open frames as interrupted. The guests continue, unrecorded.
    ///
    /// # Errors
    ///
    /// If a write has failed, or if the recording is finished already.
    pub fn interrupt(&self, outcome: &str) -> Result<Summary> {
        self.recording.end(Reason::Interrupted, outcome)
    }
}
