//! Calls that ended without notice.

use super::LaneCore;
use std::sync::atomic::{AtomicU64, Ordering};

/// A call that ended without notice (its future was dropped, the host panicked): its frames are closed at the lane's next
/// use.
#[derive(Default)]
pub(super) struct Abandoned {
    /// One more than the depth to which frames are to be closed; 0 if there are none.
    depth_and_one: AtomicU64,
    ticks: AtomicU64,
}

impl LaneCore {
    /// Notes that frames deeper than `depth` are gone, for [`take_abandoned`](LaneCore::take_abandoned).
    pub(crate) fn abandon(&self, depth: u32) {
        self.resume();
        let one_more = u64::from(depth) + 1;
        // Of nested calls the outermost counts. It has the least depth.
        let noted = self.abandoned.depth_and_one.load(Ordering::Relaxed);
        if noted == 0 || one_more < noted {
            self.abandoned.ticks.store(self.outlet.clock.now(), Ordering::Relaxed);
            self.abandoned.depth_and_one.store(one_more, Ordering::Release);
        }
    }

    /// The depth to which frames are to be closed, and the time at which they ended.
    pub(crate) fn take_abandoned(&self) -> Option<(u32, u64)> {
        if self.abandoned.depth_and_one.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let one_more = self.abandoned.depth_and_one.swap(0, Ordering::Acquire);
        Some((one_more.checked_sub(1)? as u32, self.abandoned.ticks.load(Ordering::Relaxed)))
    }
}
