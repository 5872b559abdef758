//! When a lane's guest had no processor.

use super::{Gate, LaneCore};
use crate::clock::source::Clock;
use crate::clock::waits::{WaitKey, WaitReader};
use kperf_trace::Waits;
use std::sync::atomic::Ordering;

impl LaneCore {
    /// Whether it is of interest when the guest's thread had no processor.
    pub(super) fn has_waits(&self) -> bool {
        cfg!(target_os = "linux") && !self.spans && matches!(self.outlet.clock, Clock::Counter(_))
    }

    /// A call of the host's begins on this thread. No call is open if `idle_since` isn't the maximum: waits since then are in no call.
    pub(crate) fn attend(&self, idle_since: u64) {
        let key = WaitKey {
            thread: self.waits_of.load(Ordering::Relaxed),
            count: self.waits_read.load(Ordering::Relaxed),
        };
        if self.outlet.process.is_parent() || !self.has_waits() || key.is_current(&self.outlet.clock) {
            return;
        }
        let mut gate = self.gate();
        self.read_waits(&mut gate, idle_since);
        self.follow_this_thread(&mut gate);
    }

    /// Reads the waits of the guest's thread that began before `idle_since`.
    pub(super) fn read_waits(&self, gate: &mut Gate, idle_since: u64) {
        let Some(reader) = &mut gate.waits else { return };
        let pauses = &mut gate.pauses;
        let unplaced = reader.read(&self.outlet.clock, |wait| {
            if wait.start >= idle_since {
                return;
            }
            if self.may_note(pauses.len()) {
                pauses.push(wait);
            } else {
                self.outlet.waits.add(Waits::Unknown);
            }
        });
        gate.unplaced = gate.unplaced.plus(unplaced.ticks);
        self.outlet.waits.add(unplaced.quality);
        self.note_read(reader.key());
    }

    fn note_read(&self, WaitKey { thread, count }: WaitKey) {
        self.waits_of.store(thread, Ordering::Relaxed);
        self.waits_read.store(count, Ordering::Relaxed);
    }

    /// From now on, reads the waits of this thread.
    pub(super) fn follow_this_thread(&self, gate: &mut Gate) {
        let clock = &self.outlet.clock;
        if gate.waits.as_ref().is_none_or(|reader| !reader.is_of_this_thread(clock)) {
            gate.waits = WaitReader::of_this_thread(clock);
            self.note_read(gate.waits.as_ref().map(WaitReader::key).unwrap_or_default());
        }
        if gate.waits.is_none() {
            self.outlet.waits.add(Waits::Unknown);
        }
    }
}
