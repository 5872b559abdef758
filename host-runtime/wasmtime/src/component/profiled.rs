//! Profiles of components.
#![allow(unsafe_code)] // A component's memory can't be reached in another way by other threads.

use super::lanes::{Inner, NO_RECORDER, RestingProfile, StoreLanes};
use crate::lanes::core::LaneEvents;
use crate::link::guards::ProfiledGuard;
use crate::profile::sampling::Sampling;
use crate::profile::{Counts, Profiled, Shadow, Stack};
use crate::recording::answered::Answered;
use kperf_abi::shadow::STACK;
use kperf_abi::word::{MAX_FUNC_ID, Reason};
use kperf_trace::SpanLink;
use std::ptr::NonNull;
use std::sync::Arc;

impl StoreLanes {
    /// A profile's recorder begins, with this memory. Fails if it began before.
    pub(super) fn attach_profile(
        &self,
        address: NonNull<u8>,
        bytes: usize,
        first: u32,
        functions: u32,
    ) -> wasmtime::Result<()> {
        let recording = &self.recording;
        recording.check_counts(false)?;
        recording.note(Answered::InMemory);
        if first.checked_add(functions).is_none_or(|end| end > MAX_FUNC_ID + 1) {
            return Err(wasmtime::Error::msg(NO_RECORDER));
        }
        let mut inner = self.inner();
        inner.check_new(address.addr().get())?;
        let address = address.expose_provenance().get();
        self.open_profile(&mut inner, RestingProfile { address, bytes, first, functions })
    }

    /// Opens the lane of a profile's recorder, if it records and there is memory for it.
    pub(super) fn open_profile(&self, inner: &mut Inner, resting: RestingProfile) -> wasmtime::Result<()> {
        let recording = &self.recording;
        let RestingProfile { address, bytes, first, functions } = resting;
        let pointer = NonNull::new(std::ptr::with_exposed_provenance_mut(address));
        let pointer = pointer.ok_or_else(|| wasmtime::Error::msg(NO_RECORDER))?;
        // SAFETY: the caller has seen a memory of this size at the address, in the store with `self` as its
        // lanes. No memory of its engine moves when it grows (`define` has seen to that), so it stays there as
        // long as the store. Before `RecordedStore` drops the store, it closes the profile and takes it from
        // the sampler: the counts are not used after that.
        let counts = unsafe { Counts::of_component(pointer, bytes, first, functions) };
        let counts = counts.ok_or_else(|| wasmtime::Error::msg(NO_RECORDER))?;
        let open = || recording.open_own_lane(LaneEvents::SlowCalls, bytes);
        let Some(core) = inner.records().then(open).flatten() else {
            if !inner.is_closed {
                inner.resting_profiles.push(resting);
            }
            return Ok(());
        };
        if inner.is_async {
            core.set_async();
        }
        if let Some(parent) = &inner.parent {
            core.set_parent(0, Some(parent.clone()));
        }
        let sampling = recording.sampling.unwrap_or_else(|| Sampling::new(Sampling::PERIOD));
        let stack = Stack::Shadow(Shadow::of_instance(counts.clone()));
        let parent = inner.parent.as_ref().map(SpanLink::from);
        let profiled =
            Arc::new(Profiled::new(core, counts, stack, self.calls.clone(), sampling, false).below(parent));
        // Even if this fails, the calls are counted and the guest runs.
        if let Err(error) = recording.sampler.add(profiled.clone()) {
            recording.outlet.note_unsampled(&error.to_string());
        }
        // It counts from here on.
        profiled.set_on(true);
        inner.profiles.push(ProfiledGuard { recording: recording.clone(), profiled });
        Ok(())
    }

    /// A host's call begins. Returns the tops of the stacks.
    pub(super) fn begin_profiles(&self) -> Vec<u32> {
        let inner = self.inner();
        let tops = inner.profiles.iter().map(|guard| guard.profiled.top()).collect();
        self.calls.begin();
        if inner.profiles.iter().filter(|guard| guard.profiled.wake()).count() > 0 {
            self.recording.sampler.wake();
        }
        tops
    }

    /// The call ends. If it failed, closes the calls that it left open, with the reason.
    pub(super) fn end_profiles(&self, tops: &[u32], reason: Option<Reason>) {
        let inner = self.inner();
        for (n, guard) in inner.profiles.iter().enumerate() {
            // A profile that has begun meanwhile was at depth 0.
            let top = tops.get(n).copied().unwrap_or(STACK as u32);
            if reason.is_some() {
                guard.profiled.resume();
            }
            match reason {
                Some(reason) if guard.profiled.is_open(top) => guard.profiled.unwind(top, reason),
                // The call stays open until `post-return` ends it.
                None if guard.profiled.is_open(top) => {}
                _ => guard.profiled.returned(top),
            }
        }
        drop(inner);
        self.calls.end();
    }

    /// An asynchronous call begins to wait, or continues.
    pub(super) fn wait_profiles(&self, waits: bool) {
        for guard in &self.inner().profiles {
            if waits { guard.profiled.suspend() } else { guard.profiled.resume() }
        }
    }
}
