//! The host's side of components whose core modules have probes.
//!
//! A recorder in a component keeps its block in a memory of its component: shared memories can't be reached from there. We keep
//! its address, which is good as long as the store. So the lanes end before their store does: [`RecordedStore`] sees to it.
#![allow(unsafe_code)] // A component's memory can't be reached in another way by other threads.

mod profile;

use crate::core::LaneCore;
use crate::error::{ErrorKind, Result};
use crate::guards::{LaneGuard, ProfiledGuard};
use crate::lane::watched;
use crate::link::failed;
use crate::memory::LaneMemory;
use crate::profile::Calls;
use crate::reason::reason_of;
use crate::recording::Recording;
use crate::state::State;
use kperf_abi::block::{CLOCK_OFF, MEMORY_PAGES, START};
use kperf_abi::names::{
    COMPONENT_HOST, HOST_ATTACH, HOST_ATTACH_COUNTING, HOST_ATTACH_PROFILE, HOST_FLUSH, HOST_NOW,
};
use kperf_abi::word::Reason;
use kperf_trace::TraceContext;
use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wasmtime::component::{Linker, WasmList};
use wasmtime::{AsContext, AsContextMut, Engine, Memory, MemoryType, Store, StoreContext, StoreContextMut};

/// Stands in a store's data, so that recorders of its components find their lanes. [`Recorder::component_store`] fills it in.
///
/// [`Recorder::component_store`]: crate::Recorder::component_store
#[derive(Default)]
pub struct ComponentLanes {
    shared: Option<Arc<Shared>>,
}

impl ComponentLanes {
    /// The lanes of this very store. What stands in the data may have been moved there from another's.
    pub(crate) fn of_store<T: 'static>(
        store: &mut StoreContextMut<'_, T>,
        lanes: impl Fn(&mut T) -> &mut ComponentLanes,
    ) -> Option<Arc<Shared>> {
        let data = address_of(store.data());
        lanes(store.data_mut()).shared.clone().filter(|shared| shared.data == data)
    }
}

/// Stores whose data have no room for [`ComponentLanes`], by the address of their data.
#[derive(Clone, Default)]
pub(crate) struct Stores {
    known: Arc<Mutex<HashMap<usize, Arc<Shared>>>>,
}

impl Stores {
    fn known(&self) -> MutexGuard<'_, HashMap<usize, Arc<Shared>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lanes of a store, if it is one of these.
    pub(crate) fn find<T: 'static>(&self, store: &mut StoreContextMut<'_, T>) -> Option<Arc<Shared>> {
        self.known().get(&address_of(store.data())).cloned()
    }
}

/// The lanes of a store.
pub(crate) struct Shared {
    recording: Arc<Recording>,
    /// Where the data of the store lie. They stay there.
    data: usize,
    /// The host's calls into it.
    calls: Arc<Calls>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// The lanes, in the order in which their recorders began; it only grows until the store goes.
    lanes: Vec<LaneGuard>,
    /// Those that make a profile.
    profiles: Vec<ProfiledGuard>,
    parent: Option<TraceContext>,
    is_async: bool,
    /// The store is about to go.
    is_closed: bool,
}

/// The least alignment of a memory's first byte, in bytes.
const HOST_PAGE: usize = 4096;
/// How many pages a memory with 32-bit addresses has at most.
const MOST_PAGES: u64 = 1 << 16;
/// The lane number of a recorder that records nothing.
const NO_LANE: u32 = u32::MAX;

/// A store for components with probes. [`Recorder::component_store`](crate::Recorder::component_store) makes one. When it is
/// dropped, it hands over what is recorded, and then drops the store.
///
/// It is used as a `Store` is, through [`AsContextMut`]. There is no way to take the store out.
pub struct RecordedStore<T: 'static> {
    shared: Arc<Shared>,
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
        let shared = Shared::new(recording, &store)?;
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
        let shared = Shared::new(recording, &store)?;
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

impl Shared {
    fn new<T: 'static>(recording: &Arc<Recording>, store: &Store<T>) -> Result<Arc<Shared>> {
        if !Engine::same(store.engine(), &recording.engine) {
            return Err(ErrorKind::OtherEngine.into());
        }
        let (recording, data) = (recording.clone(), address_of(store.data()));
        Ok(Arc::new(Shared { recording, data, calls: Arc::default(), inner: Mutex::default() }))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn each(&self, act: impl Fn(&LaneCore)) {
        self.inner().lanes.iter().for_each(|lane| act(&lane.core));
    }

    /// The store is called asynchronously.
    fn set_async(&self) {
        let mut inner = self.inner();
        inner.is_async = true;
        inner.lanes.iter().for_each(|lane| lane.core.set_async());
        inner.profiles.iter().for_each(|guard| guard.profiled.core.set_async());
    }

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

    /// A recorder begins, with this memory. Answers the number of its lane, if there is one. Fails if it began before.
    fn attach(&self, address: NonNull<u8>, counts: bool) -> wasmtime::Result<Option<u32>> {
        self.recording.check_counts(counts)?;
        let mut inner = self.inner();
        inner.check_new(address.addr().get())?;
        if !inner.records() {
            return Ok(None);
        }
        // SAFETY: the caller has seen a memory of this size at the address, in the store whose data have `self`. No memory of its engine
        // moves when it grows (`define` has seen to that), so it stays there as long as the store, and `RecordedStore` closes and retires
        // all lanes before it drops the store. The address is that of a page of the host's.
        let memory = unsafe { LaneMemory::of_component(address) };
        let core = self.recording.open_lane(memory, false);
        if inner.is_async {
            core.set_async();
        }
        if let Some(parent) = &inner.parent {
            core.set_parent(0, Some(parent.clone()));
        }
        self.recording.set_clock(&core, true);
        core.check_clock_closely();
        let number = core.number;
        inner.lanes.push(LaneGuard { recording: self.recording.clone(), core });
        Ok(Some(number))
    }

    /// A recorder hands its block over.
    fn flush(&self, lane: u32, state: State, lost: u64, block: &[u8]) -> wasmtime::Result<()> {
        let inner = self.inner();
        let Some(lane) = inner.lanes.iter().find(|guard| guard.core.number == lane) else { return Ok(()) };
        let core = lane.core.clone();
        drop(inner);
        if !core.memory.is_at(block.as_ptr().addr().wrapping_sub(START)) {
            return Err(wasmtime::Error::msg("a block is flushed that is no recorder's"));
        }
        core.hand_over((START + block.len()) as u32, state);
        // What found no room came behind what did.
        if lost > 0 {
            core.lose(lost);
        }
        Ok(())
    }
}

impl Inner {
    /// Fails if a recorder has begun already with the memory at this address.
    fn check_new(&self, address: usize) -> wasmtime::Result<()> {
        let is_known = self.lanes.iter().any(|lane| lane.core.memory.is_at(address))
            || self.profiles.iter().any(|guard| guard.profiled.counts.is_at(address));
        if is_known {
            return Err(wasmtime::Error::msg("a recorder attaches its memory a second time"));
        }
        Ok(())
    }

    /// Whether a recorder that begins now records anything.
    fn records(&self) -> bool {
        let is_unsampled = |parent: &TraceContext| parent.flags & TraceContext::SAMPLED == 0;
        !self.is_closed && !self.parent.as_ref().is_some_and(is_unsampled)
    }
}

/// A call of the host's. If it is dropped unsettled, the host panicked or dropped the call's future.
struct OpenCall<'a> {
    shared: &'a Shared,
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

/// Defines what the recorders of components import. `find` finds the lanes of a store.
pub(crate) fn define<T: 'static>(
    recording: &Arc<Recording>,
    linker: &mut Linker<T>,
    find: impl Fn(&mut StoreContextMut<'_, T>) -> Option<Arc<Shared>> + Clone + Send + Sync + 'static,
) -> Result<()> {
    if !memories_stay(&recording.engine)? {
        return Err(ErrorKind::MemoriesMove.into());
    }
    let mut host = linker.instance(COMPONENT_HOST).map_err(failed)?;
    let outlet = recording.outlet.clone();
    host.func_wrap(HOST_NOW, move |_: StoreContextMut<'_, T>, ()| Ok((outlet.asked(),))).map_err(failed)?;
    for (name, counts) in [(HOST_ATTACH, false), (HOST_ATTACH_COUNTING, true)] {
        let find = find.clone();
        let attach = move |mut store: StoreContextMut<'_, T>, (memory,): (WasmList<u8>,)| {
            let shared = find(&mut store);
            let bytes = memory.as_le_slice(&store);
            if bytes.len() != MEMORY_PAGES as usize * 65536 {
                return Err(wasmtime::Error::msg(NO_RECORDER));
            }
            let address = recorder_at(bytes)?;
            let lane = shared.map(|shared| shared.attach(address, counts)).transpose()?.flatten();
            if lane.is_none() {
                // SAFETY: the memory is at least as long, and the guest waits for us.
                unsafe { address.as_ptr().cast::<u64>().write_unaligned(CLOCK_OFF.to_le()) };
            }
            Ok((lane.unwrap_or(NO_LANE),))
        };
        host.func_wrap(name, attach).map_err(failed)?;
    }
    let shared_of = find.clone();
    let attach = move |mut store: StoreContextMut<'_, T>,
                       (memory, first, functions): (WasmList<u8>, u32, u32)| {
        let Some(shared) = shared_of(&mut store) else { return Ok(()) };
        let bytes = memory.as_le_slice(&store);
        shared.attach_profile(recorder_at(bytes)?, bytes.len(), first, functions)
    };
    host.func_wrap(HOST_ATTACH_PROFILE, attach).map_err(failed)?;
    type Flushed = (u32, u32, u64, u64, WasmList<u8>);
    let flush = move |mut store: StoreContextMut<'_, T>, (lane, depth, last, lost, block): Flushed| {
        let Some(shared) = find(&mut store) else { return Ok(()) };
        let state = State { depth, last, ..State::default() };
        shared.flush(lane, state, lost, block.as_le_slice(&store))
    };
    host.func_wrap(HOST_FLUSH, flush).map_err(failed)
}

const NO_RECORDER: &str = "who attaches is no recorder";

/// The address of a recorder's memory, which it has passed whole.
fn recorder_at(bytes: &[u8]) -> wasmtime::Result<NonNull<u8>> {
    // wasmtime itself gives the address to compiled code, which writes there.
    let address = std::ptr::with_exposed_provenance_mut::<u8>(bytes.as_ptr().expose_provenance());
    // A recorder's memory begins with what it attaches, and a memory begins with a page of the host's.
    NonNull::new(address)
        .filter(|address| address.addr().get().is_multiple_of(HOST_PAGE))
        .ok_or_else(|| wasmtime::Error::msg(NO_RECORDER))
}

/// Whether memories of this engine stay where they are when they grow. A recorder's can't grow, but any component may say that its
/// memory is one, and we keep its address.
fn memories_stay(engine: &Engine) -> Result<bool> {
    let mut store = Store::new(engine, ());
    let memory = Memory::new(&mut store, MemoryType::new(MEMORY_PAGES, None)).map_err(failed)?;
    let address = memory.data_ptr(&store);
    // Nothing of it is touched. Where it can't grow any more, no memory can.
    let mut added = u64::from(MEMORY_PAGES);
    while memory.size(&store) < MOST_PAGES && memory.grow(&mut store, added).is_ok() {
        if memory.data_ptr(&store) != address {
            return Ok(false);
        }
        added = memory.size(&store).min(MOST_PAGES - memory.size(&store));
    }
    Ok(true)
}

fn address_of<T>(data: &T) -> usize {
    std::ptr::from_ref(data).addr()
}
