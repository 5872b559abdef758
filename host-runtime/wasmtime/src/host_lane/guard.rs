//! What ends a lane when its store's data go.

use crate::core::LaneCore;
use crate::recording::Recording;
use kperf_abi::word::Reason;
use std::sync::Arc;

/// A lane of host functions that is open.
pub(super) struct Guard {
    pub(super) recording: Arc<Recording>,
    pub(super) core: Arc<LaneCore>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.core.close(Reason::Unfinished, || self.recording.outlet.clock.now());
        self.recording.retire_host_lane(self.core.clone());
    }
}
