//! What ends a lane, or a profile, when the store goes.

use crate::lanes::core::LaneCore;
use crate::profile::Profiled;
use crate::recording::Recording;
use kperf_abi::word::Reason;
use std::sync::Arc;

/// Held by whatever lives exactly as long as the guest's stack: the store, or its data.
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

/// Held by the store of a guest that makes a profile.
pub(crate) struct ProfiledGuard {
    pub(crate) recording: Arc<Recording>,
    pub(crate) profiled: Arc<Profiled>,
}

impl Drop for ProfiledGuard {
    fn drop(&mut self) {
        let core = &self.profiled.core;
        self.profiled.close(Reason::Unfinished, self.recording.outlet.clock.now());
        self.recording.sampler.remove(core.number);
        self.recording.retire(core);
    }
}
