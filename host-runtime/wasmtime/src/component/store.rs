//! Stores whose lanes end before they are dropped.

use super::lanes::{StoreLanes, address_of};
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::error::Result;
use crate::lanes::core::LaneCore;
use crate::lanes::lane::watched;
use crate::lanes::reason::reason_of;
use crate::link::inlined::Inlined;
use crate::recording::Recording;
use kperf_abi::word::Reason;
use kperf_trace::TraceContext;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wasmtime::{AsContext, AsContextMut, Linker, Store, StoreContext, StoreContextMut};

/// The stores for components of a recording, by the address of their data.
#[derive(Default)]
pub(crate) struct Stores(Mutex<HashMap<usize, Arc<StoreLanes>>>);

impl Stores {
    fn by_address(&self) -> MutexGuard<'_, HashMap<usize, Arc<StoreLanes>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lanes of a store, if it is one of these.
    pub(super) fn find<T: 'static>(&self, store: &StoreContextMut<'_, T>) -> Option<Arc<StoreLanes>> {
        self.by_address().get(&address_of(store.data())).cloned()
    }
}

/// A store for components and modules with probes, made by [`Recorder::recorded_store`](crate::Recorder::recorded_store). When it is
/// dropped, it ends the lanes and then drops the store.
///
/// Use it as a `Store`, through [`AsContextMut`]. The store can't be taken out.
pub struct RecordedStore<T: 'static> {
    shared: Arc<StoreLanes>,
    store: Store<T>,
}

impl<T: 'static> RecordedStore<T> {
    pub(crate) fn new(recording: &Arc<Recording>, store: Store<T>) -> Result<RecordedStore<T>> {
        let shared = StoreLanes::new(recording, &store)?;
        recording.stores.by_address().insert(shared.data, shared.clone());
        Ok(RecordedStore { shared, store })
    }

    /// [`Recorder::link_inlined`](crate::Recorder::link_inlined) for modules in this store. Here they may be rewritten
    /// for `kperf_rewriter::Recording::OwnProfile` too, and for `OwnCount` if [`Recorder::native_code`](crate::Recorder::native_code) knows
    /// their code.
    ///
    /// # Errors
    ///
    /// As there. A module with counts in globals whose code is not known, or whose globals aren't found, fails to be instantiated.
    pub fn link_inlined(&mut self, linker: &mut Linker<T>) -> Result<Inlined> {
        Inlined::link_kept(&self.shared.recording, &mut self.store, linker, &self.shared.guards)
    }

    /// Sets the parent of the host's next calls: for example a span of the host, or the request that it serves. Calls of a parent that
    /// isn't sampled are not recorded. An instance that is kept can have another parent for each call. It hands the current blocks
    /// over, which takes some microseconds; in a profile it begins a window.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::CallOpen`] if a call is open that is recorded: it keeps its parent. [`ErrorKind::Forked`] in a forked child.
    pub fn set_parent(&mut self, context: Option<TraceContext>) -> Result<()> {
        self.shared.set_parent(context)
    }

    /// Calls the guest through `call`. If that fails, closes the frames that the guest opened, with the reason that
    /// [`reason_of`](crate::reason_of) finds in the error. The component can't be called again then.
    ///
    /// # Errors
    ///
    /// What `call` returns, unchanged.
    pub fn call<R>(&mut self, call: impl FnOnce(&mut Self) -> wasmtime::Result<R>) -> wasmtime::Result<R> {
        let shared = self.shared.clone();
        let open = shared.begin();
        let modules = shared.modules.begin(&mut self.store);
        let result = call(self);
        modules.settle(&mut self.store, &result);
        open.settle(&result);
        result
    }

    /// [`call`](RecordedStore::call) for asynchronous calls. If the future is dropped before it is ready, the frames are closed
    /// with [`Reason::Host`] at that time. The time in which it is pending becomes a call of `[suspended]`.
    ///
    /// # Errors
    ///
    /// What `call` returns, unchanged.
    pub async fn call_async<R>(
        &mut self,
        call: impl AsyncFnOnce(&mut Self) -> wasmtime::Result<R>,
    ) -> wasmtime::Result<R> {
        let shared = self.shared.clone();
        shared.set_async();
        shared.modules.instances().set_async();
        let open = shared.begin();
        let modules = shared.modules.begin(&mut self.store);
        let result = watched(call(self), |waits| shared.wait(waits)).await;
        modules.settle(&mut self.store, &result);
        open.settle(&result);
        result
    }

    /// How many recorders have begun: one for each instance of a component with core modules, and one for each module's that makes a
    /// profile ([`Recorder::add_profiles_to_linker`](crate::Recorder::add_profiles_to_linker)).
    pub fn lanes(&self) -> usize {
        let inner = self.shared.inner();
        inner.lanes.len() + inner.profiles.len() + self.shared.modules.profiles()
    }
}

impl<T: 'static> AsContext for RecordedStore<T> {
    type Data = T;

    fn as_context(&self) -> StoreContext<'_, T> {
        self.store.as_context()
    }
}

impl<T: 'static> AsContextMut for RecordedStore<T> {
    fn as_context_mut(&mut self) -> StoreContextMut<'_, T> {
        self.store.as_context_mut()
    }
}

impl<T: 'static> Drop for RecordedStore<T> {
    fn drop(&mut self) {
        let mut inner = self.shared.inner();
        inner.is_closed = true;
        let (lanes, profiles) = (std::mem::take(&mut inner.lanes), std::mem::take(&mut inner.profiles));
        drop(inner);
        self.shared.recording.stores.by_address().remove(&self.shared.data);
        // The memories exist until the store is dropped, after this.
        drop((lanes, profiles));
        self.shared.guards.close();
    }
}

impl StoreLanes {
    /// An asynchronous call begins to wait, or continues.
    fn wait(&self, waits: bool) {
        self.each(if waits { LaneCore::suspend } else { LaneCore::resume });
        self.wait_profiles(waits);
        self.modules.instances().wait(waits);
    }

    /// A host's call begins.
    fn begin(&self) -> OpenCall<'_> {
        let now = self.recording.outlet.clock.now();
        self.each(|lane| {
            lane.check_clock_closely();
            lane.attend(u64::MAX);
            lane.memory.note_begun(now);
        });
        OpenCall { shared: self, ends: Some(Reason::Host), tops: self.begin_profiles() }
    }
}

/// An open host's call. If it is dropped unsettled, the host panicked or dropped the call's future.
struct OpenCall<'a> {
    shared: &'a StoreLanes,
    /// The reason with which open frames are closed when it is dropped.
    ends: Option<Reason>,
    /// The tops of the profiles' stacks at its beginning.
    tops: Vec<u32>,
}

impl OpenCall<'_> {
    /// The call has ended. A guest that returned has left its frames.
    fn settle<R>(mut self, result: &wasmtime::Result<R>) {
        self.ends = result.as_ref().err().map(reason_of);
    }
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        self.shared.end_profiles(&self.tops, self.ends);
        let Some(reason) = self.ends else { return };
        let now = self.shared.recording.outlet.clock.now();
        self.shared.each(|lane| {
            if lane.is_inside() {
                lane.close(reason, || now);
            }
        });
    }
}
