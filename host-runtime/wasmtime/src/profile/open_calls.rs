//! The calls that the last sample found open.

use super::tree::SampleTree;
use crate::lanes::record::Pen;
use kperf_abi::shadow::Slot;
use kperf_abi::word::Reason;

/// The calls that the last sample found open, outermost first. Calls that have lasted long enough are written to the trace.
/// An outer call lasts longer than those inside it, so the written ones are always the first in the list.
#[derive(Default)]
pub(crate) struct OpenCalls {
    calls: Vec<OpenCall>,
    written: usize,
    /// When a sample found them gone, while the host has not yet reported how the outermost one ended.
    gone: Option<u64>,
}

struct OpenCall {
    slot: Slot,
    /// The call's path; if the tree has no room for it, the path of the call around it.
    node: Option<u32>,
    cut: bool,
    /// The assumed beginning of the call: halfway between the first sample that saw it and the previous sample.
    start: u64,
}

impl OpenCalls {
    /// Counts a sample that found these calls. Changes since the previous sample are assumed to be halfway between the two. Returns
    /// how many calls are still the same. `will_hear`: [`leave`](Self::leave) or [`unwind`](Self::unwind) will report how each of
    /// them ended.
    pub(crate) fn see(
        &mut self,
        path: &[Slot],
        middle: u64,
        will_hear: bool,
        tree: &mut SampleTree,
        pen: &mut Pen<'_>,
    ) -> usize {
        if path.is_empty() && will_hear && !self.calls.is_empty() {
            self.gone.get_or_insert(middle);
            return 0;
        }
        self.settle(pen);
        let same = self.still_open(path);
        self.leave(same, middle, pen);
        for &slot in path.iter().skip(same) {
            self.push(slot, middle, tree);
        }
        same
    }

    fn push(&mut self, slot: Slot, start: u64, tree: &mut SampleTree) {
        let (parent, cut) = self.calls.last().map_or((None, false), |call| (call.node, call.cut));
        let child = slot.func().filter(|_| !cut).and_then(|func| tree.child(parent, func));
        self.calls.push(OpenCall { slot, node: child.or(parent), cut: child.is_none(), start });
    }

    /// Writes the calls that have lasted at least `least_ticks`, of the first `same` calls, which were seen
    /// twice.
    pub(crate) fn write(&mut self, same: usize, now: u64, least_ticks: u64, pen: &mut Pen<'_>) {
        while let Some(call) = self.calls.get(self.written).filter(|_| self.written < same)
            && let Some(func) = call.slot.func().filter(|_| call.slot.has_serial())
            && now.saturating_sub(call.start) >= least_ticks
        {
            pen.enter_at(call.start, func.0);
            self.written += 1;
        }
    }

    /// How many of the calls another sample found again.
    pub(crate) fn still_open(&self, path: &[Slot]) -> usize {
        self.calls.iter().zip(path).take_while(|(call, slot)| call.slot == **slot).count()
    }

    /// Calls that are gone have returned, if the host has not reported anything else by now.
    pub(crate) fn settle(&mut self, pen: &mut Pen<'_>) {
        if let Some(gone) = self.gone {
            self.leave(0, gone, pen);
        }
    }

    /// Calls deeper than this have returned.
    pub(crate) fn leave(&mut self, depth: usize, now: u64, pen: &mut Pen<'_>) {
        let now = self.gone.take().unwrap_or(now);
        while self.written > depth {
            pen.leave_at(now);
            self.written -= 1;
        }
        self.calls.truncate(depth);
    }

    /// Calls deeper than this were unwound, with a reason.
    pub(crate) fn unwind(&mut self, depth: usize, now: u64, reason: Reason, pen: &mut Pen<'_>) {
        let now = self.gone.take().unwrap_or(now);
        self.calls.truncate(depth);
        if self.written > depth {
            pen.close_at(now, reason, depth as u32);
            self.written = depth;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The path of the innermost call; `None` if no call is open.
    pub(crate) fn node(&self) -> Option<u32> {
        self.innermost().and_then(|call| call.node)
    }

    /// Whether the tree has no room for the path.
    pub(crate) fn is_cut(&self) -> bool {
        self.innermost().is_some_and(|call| call.cut)
    }

    fn innermost(&self) -> Option<&OpenCall> {
        self.calls.last().filter(|_| self.gone.is_none())
    }

    /// Adds the open calls to a new tree.
    pub(crate) fn replant(&mut self, tree: &mut SampleTree) {
        for call in std::mem::take(&mut self.calls) {
            self.push(call.slot, call.start, tree);
        }
    }
}
