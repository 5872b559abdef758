//! The store of a component with probes: its lanes end before it does.

use super::lanes::{StoreLanes, address_of};
use crate::error::Result;
use crate::lanes::core::LaneCore;
use crate::lanes::lane::watched;
use crate::lanes::reason::reason_of;
use crate::recording::Recording;
use kperf_abi::word::Reason;
use kperf_trace::TraceContext;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wasmtime::{AsContext, AsContextMut, Store, StoreContext, StoreContextMut};

/// Stands in a store's data, so that recorders of its components find their lanes. [`Recorder::component_store`] fills it in.
///
/// [`Recorder::component_store`]: crate::Recorder::component_store
#[derive(Default)]
pub struct ComponentLanes {
    shared: Option<Arc<StoreLanes>>,
}

impl ComponentLanes {
    /// The lanes of this very store. What stands in the data may have been moved there from another's.
    pub(crate) fn of_store<T: 'static>(
        store: &mut StoreContextMut<'_, T>,
        lanes: impl Fn(&mut T) -> &mut ComponentLanes,
    ) -> Option<Arc<StoreLanes>> {
        let data = address_of(store.data());
        lanes(store.data_mut()).shared.clone().filter(|shared| shared.data == data)
    }
}

/// Stores whose data have no room for [`ComponentLanes`], by the address of their data.
#[derive(Clone, Default)]
pub(crate) struct Stores {
    known: Arc<Mutex<HashMap<usize, Arc<StoreLanes>>>>,
}

impl Stores {
    fn known(&self) -> MutexGuard<'_, HashMap<usize, Arc<StoreLanes>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lanes of a store, if it is one of these.
    pub(crate) fn find<T: 'static>(&self, store: &mut StoreContextMut<'_, T>) -> Option<Arc<StoreLanes>> {
        self.known().get(&address_of(store.data())).cloned()
    }
}

/// A store for components with probes. [`Recorder::component_store`](crate::Recorder::component_store) makes one. When it is
/// dropped, it hands over what is recorded, and then drops the store.
///
/// It is used as a `Store` is, through [`AsContextMut`]. There is no way to take the store out.
pub struct RecordedStore<T: 'static> {
    shared: Arc<StoreLanes>,
    /// Those among which it is to be found, if its data don't lead to its lanes.
    among: Option<Stores>,
    store: Store<T>,
}

impl<T: 'static> RecordedStore<T> {
    pub(crate) fn new(
        recording: &Arc<Recording>,
        mut store: Store<T>,
        lanes: impl Fn(&mut T) -> &mut ComponentLanes,
    ) -> Result<RecordedStore<T>> {
        let shared = StoreLanes::new(recording, &store)?;
        lanes(store.data_mut()).shared = Some(shared.clone());
        Ok(RecordedStore { shared, among: None, store })
    }

    /// The same without room in its data.
    #[cfg(feature = "instrument")]
    pub(crate) fn among(
        stores: &Stores,
        recording: &Arc<Recording>,
        store: Store<T>,
    ) -> Result<RecordedStore<T>> {
        let shared = StoreLanes::new(recording, &store)?;
        stores.known().insert(shared.data, shared.clone());
        Ok(RecordedStore { shared, among: Some(stores.clone()), store })
    }

    /// Sets the parent of the host's calls: a span of the host, say, or the request that it serves. It must be known before a component
    /// is instantiated. Calls of a parent that isn't sampled are not recorded.
    pub fn set_parent(&mut self, context: Option<TraceContext>) {
        self.shared.inner().parent = context;
    }

    /// Calls the guest by `call`. If that fails, it closes the frames that the guest opened, for the reason that
    /// [`reason_of`](crate::reason_of) finds in the error. The component can't be called again then.
    ///
    /// # Errors
    ///
    /// What `call` returns, unchanged.
    pub fn call<R>(&mut self, call: impl FnOnce(&mut Self) -> wasmtime::Result<R>) -> wasmtime::Result<R> {
        let shared = self.shared.clone();
        let open = shared.begin();
        let result = call(self);
        open.settle(&result);
        result
    }

    /// [`call`](RecordedStore::call) for asynchronous calls. When the future is dropped halfway, the frames are closed for
    /// [`Reason::Host`] at that time. While the call is pending, the guest doesn't run: that time is told as
    /// a call of `[suspended]`.
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
        let open = shared.begin();
        let result = watched(call(self), |waits| shared.wait(waits)).await;
        open.settle(&result);
        result
    }

    /// How many recorders have begun: one for each instance of a component that has core modules.
    pub fn lanes(&self) -> usize {
        let inner = self.shared.inner();
        inner.lanes.len() + inner.profiles.len()
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
        if let Some(stores) = &self.among {
            stores.known().remove(&self.shared.data);
        }
        // The memories are there until the store is dropped, behind this.
        drop((lanes, profiles));
    }
}

impl StoreLanes {
    /// An asynchronous call begins to wait, or goes on.
    fn wait(&self, waits: bool) {
        self.each(if waits { LaneCore::suspend } else { LaneCore::resume });
        self.wait_profiles(waits);
    }

    /// A call of the host's begins.
    fn begin(&self) -> OpenCall<'_> {
        let now = self.recording.outlet.clock.now();
        self.each(|lane| {
            lane.check_clock_closely();
            lane.memory.note_begun(now);
        });
        OpenCall { shared: self, ends: Some(Reason::Host), tops: self.begin_profiles() }
    }
}

/// A call of the host's. If it is dropped unsettled, the host panicked or dropped the call's future.
struct OpenCall<'a> {
    shared: &'a StoreLanes,
    /// Why the frames end that are open when it is dropped.
    ends: Option<Reason>,
    /// Where the stacks of profiles stood when it began.
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
