//! Lanes by store, for hosts without a lane in their stores' data.

use super::modules::Modules;
use crate::link::host_lane::FindLane;
use crate::link::host_lane::HostLane;
use crate::recorder::handle::Recorder;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use wasmtime::{AsContextMut, Func};

/// The lanes of all stores with an event. A store is identified by the address of its data, which is unique until the store is
/// dropped. Each store gets a host function that is never called: dropping it shows that the store is dropped.
///
/// Linkers and stores hold this table, and with it the recording.
#[derive(Clone)]
pub(crate) struct LanesByStore {
    shared: Arc<StoreTable>,
}

pub(super) struct StoreTable {
    recorder: Recorder,
    modules: Modules,
    open: Mutex<HashMap<usize, Arc<Slot>>>,
}

/// The lane of a store; `None` after the store is dropped.
#[derive(Default)]
struct Slot {
    lane: Mutex<Option<HostLane>>,
}

impl Slot {
    /// Only one thread at a time has the store, so no thread waits here.
    fn lane(&self) -> MutexGuard<'_, Option<HostLane>> {
        self.lane.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The store that had this thread's last event.
struct Last {
    /// The address of the table. It may be reused by now, but then the lane is gone.
    lanes: usize,
    store: usize,
    slot: Arc<Slot>,
}

thread_local! {
    static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
}

impl LanesByStore {
    pub(super) fn new(recorder: Recorder) -> LanesByStore {
        let shared = StoreTable { recorder, modules: Modules::default(), open: Mutex::default() };
        LanesByStore { shared: Arc::new(shared) }
    }

    pub(super) fn recorder(&self) -> &Recorder {
        &self.shared.recorder
    }

    /// The modules whose calls are recorded.
    pub(super) fn modules(&self) -> &Modules {
        &self.shared.modules
    }

    pub(super) fn downgrade(&self) -> Weak<StoreTable> {
        Arc::downgrade(&self.shared)
    }

    pub(super) fn upgrade(weak: &Weak<StoreTable>) -> Option<LanesByStore> {
        weak.upgrade().map(|shared| LanesByStore { shared })
    }

    /// No other lanes have the same while these are held.
    pub(super) fn address(&self) -> usize {
        Arc::as_ptr(&self.shared).addr()
    }

    /// The lane of a store that this thread didn't see last.
    #[cold]
    fn find(&self, mut store: impl AsContextMut, address: usize) -> Arc<Slot> {
        let mut open = self.shared.open.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = open.entry(address).or_insert_with(|| {
            let lane = self.shared.recorder.host_lane();
            let slot = Arc::new(Slot { lane: Mutex::new(Some(lane)) });
            let end = End { lanes: self.clone(), address, slot: slot.clone() };
            Func::wrap(store.as_context_mut(), move || {
                let _ = &end;
            });
            slot
        });
        slot.clone()
    }

    /// The thread's next event is of this store, probably.
    fn remember(&self, store: usize, slot: &Arc<Slot>) {
        // A thread that ends has no place for it. Nor has one that is about to use the lane of another store.
        let _ = LAST.try_with(|last| {
            if let Ok(mut last) = last.try_borrow_mut() {
                *last = Some(Last { lanes: self.address(), store, slot: slot.clone() });
            }
        });
    }
}

impl<T: 'static> FindLane<T> for LanesByStore {
    #[inline]
    fn with<R>(&self, mut store: impl AsContextMut<Data = T>, act: impl FnOnce(&mut HostLane) -> R) -> R {
        let address = std::ptr::from_ref(store.as_context().data()).addr();
        let mut act = Some(act);
        let fast = LAST.try_with(|last| {
            let last = last.try_borrow().ok()?;
            let last = last.as_ref().filter(|last| last.store == address && last.lanes == self.address())?;
            let mut lane = last.slot.lane();
            let lane = lane.as_mut()?;
            act.take().map(|act| act(lane))
        });
        match (fast, act) {
            (Ok(Some(result)), _) => result,
            (_, Some(act)) => {
                let slot = self.find(&mut store, address);
                self.remember(address, &slot);
                act(slot.lane().get_or_insert_with(|| self.shared.recorder.host_lane()))
            }
            (_, None) => unreachable!("it was done"),
        }
    }
}

/// Dropped with the store.
struct End {
    lanes: LanesByStore,
    address: usize,
    slot: Arc<Slot>,
}

impl Drop for End {
    fn drop(&mut self) {
        let mut open = self.lanes.shared.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.remove(&self.address);
        drop(open);
        // A thread may keep the slot for as long as it lives.
        let lane = self.slot.lane().take();
        drop(lane);
    }
}
