//! The counts and samples of a profiled instance that aren't written yet.

use super::guest_thread::GuestThread;
use super::open_calls::OpenCalls;
use super::spent::Spent;
use super::split::{Parts, split};
use super::tree::SampleTree;
use crate::clock::source::Clock;
use crate::lanes::state::RecorderState;
use kperf_abi::shadow::Slot;
use kperf_trace::{WAITING, WAITING_FOR_PROCESSOR, Window};

/// The counts and samples so far. Its size depends on the number of different paths in a window and the depth of the stack, both
/// limited, not on time.
pub(super) struct Work {
    pub(super) on: bool,
    pub(super) closed: bool,
    /// The recorder's state of the lane's block.
    pub(super) state: RecorderState,
    pub(super) open: OpenCalls,
    /// The paths since the window began.
    pub(super) tree: SampleTree,
    /// The current window, without its tree and counts.
    pub(super) window: Window,
    /// The window's length, in ticks.
    pub(super) length: u64,
    /// The time of the last sample that was not torn.
    pub(super) seen: u64,
    /// Until when times are counted: the last sample, or the one before a wait.
    pub(super) last: u64,
    /// Whether the thread has not run since: it waits in the innermost call. Only on a shadow stack.
    pub(super) is_waiting: bool,
    /// The path that waited at the last sample, and for how many ticks.
    pub(super) last_wait: Option<(u32, u64)>,
    /// The thread that runs the guest of a shadow stack, once it is known.
    pub(super) thread: Option<GuestThread>,
    /// How the thread had spent its time at that sample, if known.
    pub(super) spent: Option<Spent>,
    /// The same when the window began.
    pub(super) begun: Option<Spent>,
    /// The counts when the window began.
    pub(super) counted: Vec<u64>,
    /// Room for a path.
    pub(super) path: Vec<Slot>,
    /// Whether other code has taken the signal for samples.
    pub(super) gave_up: bool,
}

impl Work {
    /// Counts a time: `node` is the path that ran (`None`: no call was open), at this address, and `waited_at` the one that waited
    /// before, if it is another.
    pub(super) fn count(
        &mut self,
        node: Option<u32>,
        address: Option<usize>,
        waited_at: Option<u32>,
        Parts { running, for_processor, waiting, late }: Parts,
    ) {
        if let Some((node, ticks)) = self.last_wait.take().filter(|_| late > 0) {
            self.tree.move_wait(node, ticks.min(late));
        }
        let window = &mut self.window;
        match node {
            None => window.idle_ticks = window.idle_ticks.saturating_add(running),
            Some(node) => {
                self.tree.add(node, address, running);
                window.squares += running as f64 * running as f64;
            }
        }
        for (waits, ticks) in [(WAITING_FOR_PROCESSOR, for_processor), (WAITING, waiting)] {
            match waited_at.or(node) {
                None => window.idle_ticks = window.idle_ticks.saturating_add(ticks),
                Some(node) if ticks > 0 => self.tree.add_wait(node, waits, ticks),
                Some(_) => {}
            }
        }
        self.last_wait = waited_at.or(node).filter(|_| waiting > 0).map(|node| (node, waiting));
    }

    /// The time, and how the thread with this number, which runs a shadow stack's guest, has spent its time, if that is known.
    pub(super) fn time(&mut self, thread: Option<i32>, clock: &Clock) -> (u64, Option<Spent>) {
        let is_known = |id| self.thread.as_ref().is_some_and(|thread| thread.id() == id);
        if let Some(id) = thread.filter(|&id| !is_known(id)) {
            self.end_wait(clock.now(), clock);
            // The clocks of two threads have nothing in common.
            (self.thread, self.spent) = (Some(GuestThread::new(id)), None);
        }
        let known = thread.and(self.thread.as_ref()).and_then(|thread| thread.spent(clock));
        known.map_or_else(|| (clock.now(), None), |(time, spent)| (time, Some(spent)))
    }

    /// Counts a wait of the thread until now. It may go on.
    pub(super) fn end_wait(&mut self, now: u64, clock: &Clock) {
        if !std::mem::take(&mut self.is_waiting) {
            return;
        }
        let spent = self.thread.as_ref().and_then(|thread| thread.spent(clock)).map(|(_, spent)| spent);
        let elapsed = now.saturating_sub(self.last);
        let parts = match self.spent.zip(spent) {
            None => Parts { waiting: elapsed, ..Parts::default() },
            both => split(elapsed, both, true, clock),
        };
        self.count(self.open.node(), None, None, parts);
        (self.last, self.spent) = (now, spent);
    }
}
