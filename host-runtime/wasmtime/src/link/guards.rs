//! Guards that end a lane, or a profile, when the store is dropped.

use crate::lanes::core::LaneCore;
use crate::profile::Profiled;
use crate::recording::Recording;
use kperf_abi::word::Reason;
use std::sync::{Arc, Mutex, PoisonError};

/// What closes the lanes of a store.
#[derive(Clone, Default)]
pub(crate) struct Guards(Arc<Mutex<Vec<Guard>>>);

impl Guards {
    pub(super) fn add(&self, guard: Guard) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(guard);
    }

    /// Closes all lanes.
    #[cfg(feature = "component-model")]
    pub(crate) fn close(&self) {
        let guards = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        drop(guards);
    }
}

/// Closes a lane when the store is dropped.
pub(super) enum Guard {
    Lane { _guard: LaneGuard },
    Profile { _guard: ProfiledGuard },
}

/// Ends a lane. Held by the store or its data, which live as long as the guest's stack.
pub(crate) struct LaneGuard {
    pub(crate) recording: Arc<Recording>,
    pub(crate) core: Arc<LaneCore>,
}

impl Drop for LaneGuard {
    fn drop(&mut self) {
        self.core.close(Reason::Unfinished, || self.recording.outlet.clock.now());
        self.recording.retire(&self.core);
    }
}

/// Ends a profile of an instance. Held by its store.
pub(crate) struct ProfiledGuard {
    pub(crate) recording: Arc<Recording>,
    pub(crate) profiled: Arc<Profiled>,
}

impl Drop for ProfiledGuard {
    fn drop(&mut self) {
        if self.recording.check_process().is_err() {
            return;
        }
        let core = &self.profiled.core;
        self.profiled.close(Reason::Unfinished, self.recording.outlet.clock.now());
        self.recording.sampler.remove(core.number);
        self.recording.retire(core);
    }
}
