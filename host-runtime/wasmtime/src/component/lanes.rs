//! The lanes and profiles of one store's components.
#![allow(unsafe_code)] // A component's memory can't be reached in another way by other threads.

use crate::error::{ErrorKind, Result};
use crate::lanes::core::{LaneCore, LaneEvents};
use crate::lanes::memory::{BYTES, LaneMemory};
use crate::lanes::state::RecorderState;
use crate::link::guards::{Guards, LaneGuard, ProfiledGuard};
use crate::link::inlined::Inlined;
use crate::link::module::failed;
use crate::profile::HostCalls;
use crate::recording::Recording;
use kperf_abi::block::START;
use kperf_abi::shadow::STACK;
use kperf_trace::TraceContext;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wasmtime::{Engine, Store};

/// The lanes of a store.
pub(crate) struct StoreLanes {
    pub(super) recording: Arc<Recording>,
    /// The address of the store's data, which never move.
    pub(super) data: usize,
    /// The host's calls into it.
    pub(super) calls: Arc<HostCalls>,
    /// The instances of its modules that are not linked one by one, and what ends their profiles.
    pub(super) modules: Inlined,
    pub(super) guards: Guards,
    inner: Mutex<Inner>,
}

/// A profile's recorder that records nothing so far.
#[derive(Clone, Copy)]
pub(super) struct RestingProfile {
    /// Of its memory, exposed.
    pub(super) address: usize,
    pub(super) bytes: usize,
    pub(super) first: u32,
    pub(super) functions: u32,
}

#[derive(Default)]
pub(super) struct Inner {
    /// The lanes, in the order in which their recorders began. It only grows until the store is dropped.
    pub(super) lanes: Vec<LaneGuard>,
    /// The profiles.
    pub(super) profiles: Vec<ProfiledGuard>,
    /// The memories of recorders that record nothing so far.
    resting: Vec<usize>,
    pub(super) resting_profiles: Vec<RestingProfile>,
    pub(super) parent: Option<TraceContext>,
    pub(super) is_async: bool,
    /// The store is about to be dropped.
    pub(super) is_closed: bool,
}

impl StoreLanes {
    pub(super) fn new<T: 'static>(recording: &Arc<Recording>, store: &Store<T>) -> Result<Arc<StoreLanes>> {
        recording.check_process()?;
        if !Engine::same(store.engine(), &recording.engine) {
            return Err(ErrorKind::OtherEngine.into());
        }
        Ok(Arc::new(StoreLanes {
            recording: recording.clone(),
            data: address_of(store.data()),
            calls: Arc::default(),
            modules: Inlined::new(recording),
            guards: Guards::default(),
            inner: Mutex::default(),
        }))
    }

    pub(super) fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn each(&self, act: impl Fn(&LaneCore)) {
        self.inner().lanes.iter().for_each(|lane| act(&lane.core));
    }

    /// The store is called asynchronously.
    pub(super) fn set_async(&self) {
        let mut inner = self.inner();
        inner.is_async = true;
        inner.lanes.iter().for_each(|lane| lane.core.set_async());
        inner.profiles.iter().for_each(|guard| guard.profiled.core.set_async());
    }

    /// A recorder begins, with this memory. Returns its lane's number, if it records. Fails if it began before.
    pub(super) fn attach(&self, address: NonNull<u8>, counts: bool) -> wasmtime::Result<Option<u32>> {
        self.recording.check_process()?;
        self.recording.check_counts(counts)?;
        let mut inner = self.inner();
        inner.check_new(address.addr().get())?;
        let number = if inner.records() { self.open(&mut inner, address) } else { None };
        if number.is_none() && !inner.is_closed {
            inner.resting.push(address.expose_provenance().get());
        }
        Ok(number)
    }

    /// Opens the lane of a recorder; `None` if there is no memory for it.
    fn open(&self, inner: &mut Inner, address: NonNull<u8>) -> Option<u32> {
        let grant = self.recording.grant(BYTES)?;
        // SAFETY: the caller has seen a memory of this size at the address, in the store with `self` as its
        // lanes. No memory of its engine moves when it grows (`define` has seen to that), so it stays there as
        // long as the store, and `RecordedStore` closes and retires all lanes before it drops the store. The
        // address is the start of a page of the host.
        let memory = unsafe { LaneMemory::of_component(address, grant) };
        let core = self.recording.open_lane(memory, LaneEvents::AllCalls);
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
        Some(number)
    }

    /// Sets the parent of the host's next calls, and records them or not. Fails if a recorded call is open.
    pub(super) fn set_parent(&self, context: Option<TraceContext>) -> Result<()> {
        self.recording.check_process()?;
        let mut inner = self.inner();
        let is_open = inner.lanes.iter().filter_map(|lane| lane.core.split()).any(|depth| depth > 0)
            || inner.profiles.iter().any(|guard| guard.profiled.is_open(STACK as u32));
        if is_open && self.calls.is_any() || self.modules.instances().has_open_call() {
            return Err(ErrorKind::CallOpen.into());
        }
        let before = inner.records();
        inner.parent = context;
        let now = inner.records();
        let parent = inner.parent.clone();
        if before != now {
            inner.lanes.iter().for_each(|lane| self.recording.set_clock(&lane.core, now));
            inner.profiles.iter().for_each(|guard| guard.profiled.set_on(now));
        }
        self.modules.instances().set_parent(now, parent.as_ref());
        if !now {
            return Ok(());
        }
        inner.lanes.iter().for_each(|lane| lane.core.set_parent(0, parent.clone()));
        inner.profiles.iter().for_each(|guard| guard.profiled.set_parent(parent.as_ref()));
        for address in std::mem::take(&mut inner.resting) {
            let Some(pointer) = NonNull::new(std::ptr::with_exposed_provenance_mut(address)) else {
                continue;
            };
            if self.open(&mut inner, pointer).is_none() {
                inner.resting.push(address);
            }
        }
        for resting in std::mem::take(&mut inner.resting_profiles) {
            self.open_profile(&mut inner, resting).map_err(failed)?;
        }
        Ok(())
    }

    /// A recorder hands its block over.
    pub(super) fn flush(
        &self,
        lane: u32,
        state: RecorderState,
        lost: u64,
        block: &[u8],
    ) -> wasmtime::Result<()> {
        self.recording.check_process()?;
        let inner = self.inner();
        let address = block.as_ptr().addr().wrapping_sub(START);
        // A recorder that was attached late doesn't know its number.
        let Some(lane) = inner.lanes.iter().find(|guard| guard.core.memory.is_at(address)) else {
            return match inner.lanes.iter().any(|guard| guard.core.number == lane) {
                true => Err(wasmtime::Error::msg("a block is flushed that is no recorder's")),
                false => Ok(()),
            };
        };
        let core = lane.core.clone();
        drop(inner);
        core.hand_over((START + block.len()) as u32, state);
        // The lost events came after the block's.
        if lost > 0 {
            core.lose(lost);
        }
        Ok(())
    }
}

impl Inner {
    /// Fails if a recorder has begun already with the memory at this address.
    pub(super) fn check_new(&self, address: usize) -> wasmtime::Result<()> {
        let is_known = self.resting.contains(&address)
            || self.resting_profiles.iter().any(|resting| resting.address == address)
            || self.lanes.iter().any(|lane| lane.core.memory.is_at(address))
            || self.profiles.iter().any(|guard| guard.profiled.counts.is_at(address));
        if is_known {
            return Err(wasmtime::Error::msg("a recorder attaches its memory a second time"));
        }
        Ok(())
    }

    /// Whether a recorder that begins now records anything.
    pub(super) fn records(&self) -> bool {
        let is_unsampled = |parent: &TraceContext| parent.flags & TraceContext::SAMPLED == 0;
        !self.is_closed && !self.parent.as_ref().is_some_and(is_unsampled)
    }
}

pub(super) const NO_RECORDER: &str = "who attaches is no recorder";

pub(super) fn address_of<T>(data: &T) -> usize {
    std::ptr::from_ref(data).addr()
}
