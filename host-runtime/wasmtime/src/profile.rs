//! A module that makes a profile: what is counted and seen of one instance. `kperf_abi::shadow` and `profile.wat` are the
//! module's half.

mod open_calls;
mod sampler;
mod shadow;
mod tree;

pub(crate) use sampler::Sampler;
pub(crate) use shadow::Shadow;

use crate::core::LaneCore;
use crate::queue::Message;
use crate::record::Pen;
use crate::sampling::Sampling;
use crate::state::State;
use kperf_abi::FuncId;
use kperf_abi::shadow::{SLOTS, Slot};
use kperf_abi::word::Reason;
use kperf_trace::Window;
use open_calls::OpenCalls;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tree::SampleTree;

/// One instance. The sampler's thread looks at it; the guest's own thread says when calls have failed.
pub(crate) struct Profiled {
    /// The lane: its blocks tell the slow calls.
    pub(crate) core: Arc<LaneCore>,
    pub(crate) shadow: Shadow,
    /// The function whose count is the first.
    id_base: u32,
    sampling: Sampling,
    work: Mutex<Work>,
}

/// What is known so far. It grows with the number of different paths in a window and with the depth of the stack, both
/// limited, and not with time.
struct Work {
    on: bool,
    closed: bool,
    /// Where the lane's block stands.
    state: State,
    open: OpenCalls,
    /// Since the window began.
    tree: SampleTree,
    /// The same, but for its tree and counts.
    window: Window,
    /// How long the window shall be, in ticks.
    length: u64,
    /// When the last sample was taken that was not torn.
    last: u64,
    /// The counts when the window began.
    counted: Vec<u64>,
    /// Room for a path.
    path: Vec<Slot>,
}

/// How long the first window is if nothing is said.
const FIRST_WINDOW: Duration = Duration::from_secs(1);

impl Profiled {
    /// An instance that is about to begin.
    pub(crate) fn new(
        core: Arc<LaneCore>,
        shadow: Shadow,
        id_base: u32,
        sampling: Sampling,
        on: bool,
    ) -> Profiled {
        let clock = &core.recording.clock;
        let now = clock.now();
        let mut state = State { last: now, ..State::default() };
        Pen { lane: &core, state: &mut state }.begin_block();
        let nanos = |time: Duration| time.as_nanos().min(u64::MAX.into()) as u64;
        let work = Work {
            on,
            closed: false,
            state,
            open: OpenCalls::default(),
            tree: SampleTree::default(),
            window: Window {
                recorder: core.number,
                start_ticks: now,
                period_nanos: nanos(sampling.period),
                span_min_nanos: sampling.span_min.map_or(0, nanos),
                ..Window::default()
            },
            length: clock.ticks(sampling.every.unwrap_or(FIRST_WINDOW)).max(1),
            last: now,
            counted: shadow.counts().collect(),
            path: Vec::new(),
        };
        Profiled { core, shadow, id_base, sampling, work: Mutex::new(work) }
    }

    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the open calls.
    pub(crate) fn sample(&self) {
        let mut guard = self.work();
        let work = &mut *guard;
        if !work.on || work.closed {
            return;
        }
        let clock = &self.core.recording.clock;
        let whole = self.shadow.look(&mut work.path);
        let now = clock.now();
        if !whole {
            // The next one stands for this one's time too.
            work.window.torn += 1;
            return;
        }
        let elapsed = now.saturating_sub(work.last);
        let middle = work.last.saturating_add(elapsed / 2);
        work.last = now;
        let mut pen = Pen { lane: &self.core, state: &mut work.state };
        let same = work.open.see(&work.path, middle, &mut work.tree, &mut pen);
        if let Some(least) = self.sampling.span_min {
            work.open.tell(same, now, clock.ticks(least), &mut pen);
        }
        let window = &mut work.window;
        window.samples += 1;
        window.cut += u64::from(work.path.len() >= SLOTS || work.open.is_cut());
        match work.open.node() {
            None => window.idle_ticks = window.idle_ticks.saturating_add(elapsed),
            Some(node) => {
                work.tree.add(node, elapsed);
                window.squares += elapsed as f64 * elapsed as f64;
            }
        }
        if now.saturating_sub(window.start_ticks) >= work.length {
            if self.sampling.every.is_none() {
                work.length = work.length.saturating_mul(2);
            }
            self.end_window(work, now);
        }
    }

    /// What is above a slot was unwound and nobody cleared it: a call failed, for a reason.
    pub(crate) fn unwind(&self, top: u32, reason: Reason) {
        let mut guard = self.work();
        let work = &mut *guard;
        if !work.closed {
            let now = self.core.recording.clock.now();
            let mut pen = Pen { lane: &self.core, state: &mut work.state };
            work.open.unwind(Shadow::depth(top), now, reason, &mut pen);
        }
        self.shadow.clear_from(top);
    }

    /// Switches it off or on again. What runs while it is off is in no window.
    pub(crate) fn set_on(&self, on: bool) {
        let mut guard = self.work();
        let work = &mut *guard;
        if work.closed || std::mem::replace(&mut work.on, on) == on {
            return;
        }
        let now = self.core.recording.clock.now();
        if on {
            (work.last, work.window.start_ticks) = (now, now);
            work.counted.clear();
            work.counted.extend(self.shadow.counts());
        } else {
            let mut pen = Pen { lane: &self.core, state: &mut work.state };
            work.open.unwind(0, now, Reason::Unfinished, &mut pen);
            self.end_window(work, now);
        }
    }

    /// Writes what is known so far.
    pub(crate) fn flush(&self) {
        let mut work = self.work();
        if work.on && !work.closed {
            self.end_window(&mut work, self.core.recording.clock.now());
        }
    }

    /// Writes what is left, with the calls that are open closed for a reason. Nothing is written after that.
    pub(crate) fn close(&self, reason: Reason, now: u64) {
        let mut guard = self.work();
        let work = &mut *guard;
        if std::mem::replace(&mut work.closed, true) {
            return;
        }
        if work.on {
            self.end_window(work, now);
        }
        self.core.close(reason, || now);
    }

    /// Writes the window and begins the next.
    fn end_window(&self, work: &mut Work, now: u64) {
        let ids = self.id_base..;
        let mut calls = Vec::new();
        for ((id, before), count) in ids.zip(&mut work.counted).zip(self.shadow.counts()) {
            let more = count.wrapping_sub(std::mem::replace(before, count));
            if more > 0 {
                calls.push((FuncId(id), more));
            }
        }
        let next = Window {
            start_ticks: now,
            samples: 0,
            torn: 0,
            cut: 0,
            idle_ticks: 0,
            squares: 0.0,
            ..work.window.clone()
        };
        let window = std::mem::replace(&mut work.window, next);
        let window = Window { end_ticks: now, nodes: work.tree.take(), calls, ..window };
        work.open.replant(&mut work.tree);
        self.core.recording.queue.send(Message::Window(Box::new(window)));
        Pen { lane: &self.core, state: &mut work.state }.flush();
    }
}

/// Held by the store: when it goes, the profile ends.
pub(crate) struct ProfiledGuard(pub(crate) Arc<Profiled>);

impl Drop for ProfiledGuard {
    fn drop(&mut self) {
        let core = &self.0.core;
        self.0.close(Reason::Unfinished, core.recording.clock.now());
        core.recording.sampler.remove(core.number);
        core.recording.retire(core);
    }
}
