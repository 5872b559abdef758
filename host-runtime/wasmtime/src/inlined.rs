//! Modules that have their recorder inside: the host's side of them.

use crate::core::LaneGuard;
use crate::error::{ErrorKind, Result};
use crate::lane::Lane;
use crate::link::{self, failed};
use crate::memory::LaneMemory;
use crate::reason::reason_of;
use crate::recording::Recording;
use kperf_abi::names::{self, exported};
use kperf_abi::word::Reason;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wasmtime::{AsContextMut, Caller, Engine, Extern, Func, Global, Linker, Module, SharedMemory};

/// The lanes of a store whose modules have their recorder inside (`rewrite --probe inline`). Each instance is a lane, from
/// its first event on. [`Recorder::link_inlined`](crate::Recorder::link_inlined) makes one.
///
/// It is cheap to clone. Every method wants the store that it was linked in, or a `Caller` of it.
#[derive(Clone)]
pub struct Inlined {
    shared: Arc<Shared>,
}

struct Shared {
    recording: Arc<Recording>,
    state: Mutex<State>,
}

struct State {
    /// In the order of their first events; it only grows.
    lanes: Vec<Lane>,
    /// Whether anything is recorded.
    on: bool,
}

/// Whether a module has its recorder inside.
pub fn is_inlined(module: &Module) -> bool {
    module.imports().any(|import| import.module() == names::HOST_MODULE)
}

impl Inlined {
    pub(crate) fn link<T: 'static>(
        recording: &Arc<Recording>,
        mut store: impl AsContextMut<Data = T>,
        linker: &mut Linker<T>,
    ) -> Result<Inlined> {
        let mut store = store.as_context_mut();
        if !Engine::same(store.engine(), &recording.engine) {
            return Err(ErrorKind::OtherEngine.into());
        }
        if recording.is_finished() {
            return Err(ErrorKind::Finished.into());
        }
        let state = Mutex::new(State { lanes: Vec::new(), on: true });
        let shared = Arc::new(Shared { recording: recording.clone(), state });
        let inlined = Inlined { shared: shared.clone() };
        // Owned by the function, which the store owns: when the store goes, the lanes are closed.
        let guards = Mutex::new(Vec::new());
        let memory = exported(names::MEMORY);
        let flush = Func::wrap(&mut store, move |mut caller: Caller<'_, T>, address: u32, length: u32| {
            let Some(Extern::SharedMemory(memory)) = caller.get_export(&memory) else {
                return Err(wasmtime::Error::msg("who flushes has no recorder inside"));
            };
            match shared.lane_of(&memory) {
                Some(lane) => lane.core.hand_over(address.wrapping_add(length)),
                None => {
                    let guard = shared.attach(&mut caller, memory)?;
                    guards.lock().unwrap_or_else(PoisonError::into_inner).push(guard);
                }
            }
            Ok(())
        });
        let now = link::now(&mut store, &recording.clock);
        linker.define(&mut store, names::HOST_MODULE, names::HOST_FLUSH, flush).map_err(failed)?;
        linker.define(&mut store, names::HOST_MODULE, names::HOST_NOW, now).map_err(failed)?;
        Ok(inlined)
    }

    /// Calls the guest by `call`, and if that fails closes the frames that it opened, for the reason that [`reason_of`]
    /// finds in the error. See [`Lane::call`].
    ///
    /// # Errors
    ///
    /// What `call` returns, unchanged.
    pub fn call<S: AsContextMut, R>(
        &self,
        store: &mut S,
        call: impl FnOnce(&mut S) -> wasmtime::Result<R>,
    ) -> wasmtime::Result<R> {
        let abandon = self.begin(&mut *store);
        let result = call(store);
        abandon.settle(store, &result);
        result
    }

    /// [`call`](Inlined::call) for asynchronous calls. When the future is dropped halfway, the frames are closed for
    /// [`Reason::Host`].
    ///
    /// # Errors
    ///
    /// What `call` returns, unchanged.
    pub async fn call_async<S: AsContextMut, R>(
        &self,
        store: &mut S,
        call: impl AsyncFnOnce(&mut S) -> wasmtime::Result<R>,
    ) -> wasmtime::Result<R> {
        let abandon = self.begin(&mut *store);
        let result = call(store).await;
        abandon.settle(store, &result);
        result
    }

    /// The lanes so far, in the order of their first events.
    pub fn lanes(&self) -> Vec<Lane> {
        self.shared.state().lanes.clone()
    }

    /// Hands what is recorded so far to the writer. Full blocks are handed over anyway.
    pub fn flush(&self, mut store: impl AsContextMut) {
        self.shared.state().lanes.iter().for_each(|lane| lane.flush(&mut store));
    }

    /// Switches the probes off or on again. Frames that are open when they are switched off are closed as unfinished; what
    /// runs then costs a few instructions an event and is not recorded.
    pub fn set_recording(&self, mut store: impl AsContextMut, on: bool) {
        let mut state = self.shared.state();
        if std::mem::replace(&mut state.on, on) == on {
            return;
        }
        for lane in &state.lanes {
            if !on {
                lane.close(&mut store, Reason::Unfinished, 0);
            }
            self.shared.recording.set_clock(&lane.core, on);
        }
    }

    fn begin(&self, mut store: impl AsContextMut) -> Abandon<'_> {
        let depths = self.shared.state().lanes.iter().map(|lane| lane.depth(&mut store)).collect();
        Abandon { shared: &self.shared, depths, settled: false }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lane_of(&self, memory: &SharedMemory) -> Option<Lane> {
        self.state().lanes.iter().find(|lane| lane.core.memory.is(memory)).cloned()
    }

    /// The first event of an instance, which may come from its start section.
    fn attach<T: 'static>(
        &self,
        caller: &mut Caller<'_, T>,
        memory: SharedMemory,
    ) -> wasmtime::Result<LaneGuard> {
        let mut global = |name: &str| -> wasmtime::Result<Global> {
            let name = exported(name);
            let export = caller.get_export(&name).and_then(Extern::into_global);
            export.ok_or_else(|| wasmtime::Error::msg(format!("the module exports no global `{name}`")))
        };
        let depth = global(names::STATE_DEPTH)?;
        let stack = global(names::STATE_STACK)?;
        let last = global(names::STATE_LAST)?;
        let position = Some(global(names::STATE_POSITION)?);
        let memory = LaneMemory::of_instance(memory)
            .ok_or_else(|| wasmtime::Error::msg("the recorder's memory is too small"))?;
        let core = self.recording.open_lane(memory);
        let mut state = self.state();
        self.recording.set_clock(&core, state.on);
        state.lanes.push(Lane { core: core.clone(), depth, stack, last, position });
        Ok(LaneGuard(core))
    }
}

/// Held during a call: how deep each lane was before it. If it is dropped unsettled, the host panicked or dropped the
/// call's future.
struct Abandon<'a> {
    shared: &'a Shared,
    depths: Vec<u32>,
    settled: bool,
}

impl Abandon<'_> {
    /// An instance that had no event before the call was at depth 0.
    fn depth(&self, lane: usize) -> u32 {
        self.depths.get(lane).copied().unwrap_or(0)
    }

    fn settle<R>(mut self, mut store: impl AsContextMut, result: &wasmtime::Result<R>) {
        let reason = result.as_ref().err().map_or(Reason::Caught, reason_of);
        for (n, lane) in self.shared.state().lanes.iter().enumerate() {
            lane.close(&mut store, reason, self.depth(n));
        }
        self.settled = true;
    }
}

impl Drop for Abandon<'_> {
    fn drop(&mut self) {
        if self.settled {
            return;
        }
        for (n, lane) in self.shared.state().lanes.iter().enumerate() {
            lane.core.abandon(self.depth(n));
        }
    }
}
