//! A profiled instance: its counts and samples. `kperf_abi::shadow`, `profile.wat` and `counts.wat` are the module's half.

use super::counts::Counts;
use super::host_calls::HostCalls;
use super::native::{Sample, Target};
use super::open_calls::OpenCalls;
use super::sampling::Sampling;
use super::shadow::Shadow;
use super::split::{Parts, split};
use super::stack::{Stack, TAKEN, no_timer};
use super::tree::SampleTree;
use super::work::Work;
use crate::lanes::core::LaneCore;
use crate::lanes::record::Pen;
use crate::lanes::state::RecorderState;
use crate::outlet::notice::Notice;
use crate::outlet::runs::RunWindow;
use crate::writer::SUSPENDED;
#[cfg(feature = "component-model")]
use kperf_abi::shadow::STACK;
use kperf_abi::shadow::{SLOTS, Slot};
use kperf_abi::word::Reason;
use kperf_trace::SpanLink;
#[cfg(feature = "component-model")]
use kperf_trace::TraceContext;
use kperf_trace::Window;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A profiled instance. The sampler's thread samples it; the guest's thread reports failed calls.
pub(crate) struct Profiled {
    /// The lane: its blocks have the slow calls.
    pub(crate) core: Arc<LaneCore>,
    pub(crate) counts: Counts,
    stack: Stack,
    calls: Arc<HostCalls>,
    /// Whether it takes no samples since no call is open.
    rests: AtomicBool,
    /// Whether an embedder's call has begun.
    was_called: AtomicBool,
    /// Odd while the store's asynchronous call waits: the number of that wait.
    suspended: AtomicU32,
    sampling: Sampling,
    work: Mutex<Work>,
}

/// How long the first window is by default.
const FIRST_WINDOW: Duration = Duration::from_secs(1);

impl Profiled {
    /// A new instance, in a store with these calls.
    pub(crate) fn new(
        core: Arc<LaneCore>,
        counts: Counts,
        stack: Stack,
        calls: Arc<HostCalls>,
        sampling: Sampling,
        on: bool,
    ) -> Profiled {
        let clock = &core.outlet.clock;
        let now = clock.now();
        let spent = stack.spent();
        let mut state = RecorderState { last: now, ..RecorderState::default() };
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
            seen: now,
            last: now,
            is_waiting: false,
            last_wait: None,
            thread: None,
            spent,
            begun: spent,
            counted: counts.iter().map(|(_, count)| count).collect(),
            path: Vec::new(),
            gave_up: false,
        };
        Profiled {
            core,
            counts,
            stack,
            calls,
            rests: AtomicBool::new(false),
            was_called: AtomicBool::new(false),
            suspended: AtomicU32::new(0),
            sampling,
            work: Mutex::new(work),
        }
    }

    /// Sets the parent span of all its calls.
    #[cfg(feature = "component-model")]
    pub(crate) fn below(self, parent: Option<SpanLink>) -> Profiled {
        self.work().window.parent = parent;
        self
    }

    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a sample of the open calls.
    pub(crate) fn sample(&self) {
        let mut guard = self.work();
        let work = &mut *guard;
        if !work.on || work.closed {
            return;
        }
        match &self.stack {
            Stack::Shadow(shadow) => {
                let whole = shadow.look(&mut work.path);
                let suspended = self.suspended.load(Ordering::Relaxed);
                let is_suspended = suspended % 2 == 1 && !work.path.is_empty();
                if is_suspended {
                    work.path.push(Slot(u64::from(suspended) << 32 | u64::from(SUSPENDED + 1)));
                }
                // A thread whose call is suspended does other things.
                let thread = self.calls.thread().filter(|_| !is_suspended);
                let (time, spent) = work.time(thread, &self.core.outlet.clock);
                self.see(work, Sample { time, whole, address: 0, spent });
            }
            Stack::Native(_) => self.take_samples(work),
            Stack::Timed(_) | Stack::None => {}
        }
    }

    /// The store's asynchronous call begins to wait.
    pub(crate) fn suspend(&self) {
        self.suspended.fetch_or(1, Ordering::Relaxed);
    }

    /// The wait ends: the call goes on, or its future is dropped.
    pub(crate) fn resume(&self) {
        let suspended = self.suspended.load(Ordering::Relaxed);
        self.suspended.store(suspended.wrapping_add(suspended % 2), Ordering::Relaxed);
        self.calls.note_thread();
    }

    /// Reads the samples that the thread took of itself.
    fn take_samples(&self, work: &mut Work) {
        let Stack::Native(native) = &self.stack else { return };
        while let Some(sample) = native.next(&mut work.path) {
            self.see(work, sample);
        }
        work.window.torn += native.lost();
    }

    /// Counts a sample.
    fn see(&self, work: &mut Work, sample: Sample) {
        let now = sample.time;
        if !sample.whole {
            // The next one counts for this one's time too.
            work.window.torn += 1;
            return;
        }
        let clock = &self.core.outlet.clock;
        if sample.spent.is_none() {
            work.end_wait(now, clock);
        }
        let middle = work.seen.saturating_add(now.saturating_sub(work.seen) / 2);
        work.seen = now;
        // A thread that waited was where the last sample found it.
        let waited_at = if work.is_waiting { work.open.node() } else { None };
        let mut pen = Pen { lane: &self.core, state: &mut work.state };
        // On a native stack a failed call is gone before its caller hears of it.
        let will_hear = self.is_native() && self.calls.open() > 0;
        let same = work.open.see(&work.path, middle, will_hear, &mut work.tree, &mut pen);
        let is_same = same == work.path.len();
        if let Some(least) = self.sampling.span_min {
            work.open.write(same, now, clock.ticks(least), &mut pen);
        }
        let has_run = work.spent.zip(sample.spent).is_none_or(|(before, now)| before.running != now.running);
        work.is_waiting = !has_run && !self.is_native() && work.open.node().is_some();
        let window = &mut work.window;
        window.samples += 1;
        window.cut += u64::from(work.path.len() >= SLOTS || work.open.is_cut());
        // How long a wait was for a processor is known when it is over.
        if !work.is_waiting {
            let spent = work.spent.zip(sample.spent);
            // A sample of a path that was cut is not in the code of the remaining part.
            let address = Some(sample.address).filter(|&address| address > 0 && !work.open.is_cut());
            let elapsed = now.saturating_sub(work.last);
            let parts = match work.open.node().or(waited_at) {
                None => Parts::of_running(elapsed),
                Some(_) => split(elapsed, spent, is_same, clock),
            };
            work.count(work.open.node(), address, waited_at, parts);
            (work.last, work.spent) = (now, sample.spent);
        }
        // If the queue is full the window goes on: other threads wait for the sampler.
        if now.saturating_sub(work.window.start_ticks) >= work.length && !self.core.outlet.queue.is_full() {
            if self.sampling.every.is_none() {
                work.length = work.length.saturating_mul(2);
            }
            work.end_wait(now, clock);
            self.end_window(work, now);
        }
    }

    /// The slot of the next call on the shadow stack. Only valid while the guest doesn't run.
    #[cfg(feature = "component-model")]
    pub(crate) fn top(&self) -> u32 {
        let Stack::Shadow(shadow) = &self.stack else { return STACK as u32 };
        (STACK + 8 * shadow.open()) as u32
    }

    /// Whether this slot of the shadow stack has a call.
    pub(crate) fn is_open(&self, top: u32) -> bool {
        matches!(&self.stack, Stack::Shadow(shadow) if shadow.is_open(top))
    }

    /// A call failed, with a reason: clears the slots of the shadow stack above this one, which were unwound.
    pub(crate) fn unwind(&self, top: u32, reason: Reason) {
        let mut guard = self.work();
        let work = &mut *guard;
        if let Stack::Shadow(shadow) = &self.stack {
            if work.is_waiting {
                work.end_wait(self.core.outlet.clock.now(), &self.core.outlet.clock);
            }
            // Calls that returned since the last sample have not failed. This is the guest's thread, so no slot changes now.
            if !work.open.is_empty() && shadow.look(&mut work.path) {
                let now = self.core.outlet.clock.now();
                let open = work.open.still_open(&work.path);
                work.open.leave(open, now, &mut Pen { lane: &self.core, state: &mut work.state });
            }
            shadow.clear_from(top);
        }
        self.end_calls(work, Shadow::depth(top), Some(reason));
    }

    /// An embedder's call has returned: calls in this slot of the shadow stack and above have ended.
    pub(crate) fn returned(&self, top: u32) {
        self.end_calls(&mut self.work(), Shadow::depth(top), None);
    }

    /// An embedder's call has ended: it returned, or failed with a reason. If it was inside another one, its depth is unknown,
    /// and the next sample finds that it is gone.
    pub(crate) fn end_call(&self, reason: Option<Reason>) {
        if self.calls.open() == 1 {
            self.end_calls(&mut self.work(), 0, reason);
        }
    }

    /// Calls deeper than this have ended.
    fn end_calls(&self, work: &mut Work, depth: usize, reason: Option<Reason>) {
        if work.closed {
            return;
        }
        self.take_samples(work);
        if work.is_waiting {
            work.end_wait(self.core.outlet.clock.now(), &self.core.outlet.clock);
        }
        if reason.is_some() || !work.open.is_empty() {
            let now = self.core.outlet.clock.now();
            let mut pen = Pen { lane: &self.core, state: &mut work.state };
            match reason {
                Some(reason) => work.open.unwind(depth, now, reason, &mut pen),
                None => work.open.leave(depth, now, &mut pen),
            }
        }
    }

    /// Whether samples can't distinguish this instance from one that is about to begin.
    pub(crate) fn is_same(&self, other: &Target) -> bool {
        matches!(&self.stack, Stack::Native(native) if native.is_same(other))
    }

    /// Whether its thread samples itself.
    pub(crate) fn is_native(&self) -> bool {
        matches!(self.stack, Stack::Native(_))
    }

    /// Whether anything can be sampled.
    pub(crate) fn has_stack(&self) -> bool {
        matches!(self.stack, Stack::Shadow(_) | Stack::Native(_))
    }

    /// Starts sampling, if the thread samples itself. Takes none under the test clock.
    pub(crate) fn start(&self) -> io::Result<()> {
        self.rests.store(false, Ordering::SeqCst);
        match &self.stack {
            Stack::Native(native) if self.core.outlet.clock.stopwatch().is_some() => native.start(),
            _ => Ok(()),
        }
    }

    /// Stops the thread's sampling of itself.
    fn stop(&self) {
        if let Stack::Native(native) = &self.stack {
            native.stop();
        }
    }

    /// Stops sampling for good: other code has taken the signal.
    pub(crate) fn give_up(&self) {
        let mut guard = self.work();
        let work = &mut *guard;
        if self.is_native() && !work.closed && !std::mem::replace(&mut work.gave_up, true) {
            self.stop();
            self.take_samples(work);
            self.core.outlet.note_unsampled(TAKEN);
        }
    }

    /// Whether a call may be open.
    pub(crate) fn is_busy(&self) -> bool {
        self.has_stack() && !self.calls.are_none()
    }

    /// Stops sampling if no call is open. Returns whether it is stopped.
    pub(crate) fn rest(&self) -> bool {
        if !self.has_stack() || self.rests.load(Ordering::Relaxed) {
            return true;
        }
        let mut guard = self.work();
        let work = &mut *guard;
        if work.closed || !work.on || work.gave_up {
            return true;
        }
        if !self.calls.are_none() {
            return false;
        }
        self.rests.store(true, Ordering::SeqCst);
        if !self.calls.are_none() {
            // A call has begun that didn't see it.
            self.rests.store(false, Ordering::SeqCst);
            return false;
        }
        self.stop();
        self.take_samples(work);
        true
    }

    /// An embedder's call begins. Returns whether the sampler must be woken.
    pub(crate) fn wake(&self) -> bool {
        let rests = self.rests.load(Ordering::SeqCst);
        // The first call says which thread runs the guest.
        let is_first = !self.was_called.load(Ordering::Relaxed)
            && !self.was_called.swap(true, Ordering::Relaxed)
            && matches!(self.stack, Stack::Shadow(_))
            && self.core.outlet.clock.stopwatch().is_some();
        if !rests && !is_first {
            return false;
        }
        let mut guard = self.work();
        let work = &mut *guard;
        if work.closed || !work.on || work.gave_up || !rests && !work.open.is_empty() {
            return false;
        }
        // The guest didn't run meanwhile.
        let now = self.core.outlet.clock.now();
        let idle = now.saturating_sub(std::mem::replace(&mut work.last, now));
        work.seen = now;
        work.window.idle_ticks = work.window.idle_ticks.saturating_add(idle);
        work.spent = match &self.stack {
            Stack::Shadow(_) => work.time(self.calls.thread(), &self.core.outlet.clock).1,
            stack => stack.spent(),
        };
        if !rests {
            return false;
        }
        if let Err(error) = self.start() {
            self.core.outlet.note_unsampled(&no_timer(&error));
        }
        true
    }

    /// Switches the profile off or on again. Calls while it is off are in no window.
    pub(crate) fn set_on(&self, on: bool) {
        let mut guard = self.work();
        let work = &mut *guard;
        if work.closed || std::mem::replace(&mut work.on, on) == on {
            return;
        }
        let now = self.core.outlet.clock.now();
        if on {
            // It fails for a thread that has ended: then there is nothing to sample.
            let _ = self.start();
            (work.last, work.seen, work.window.start_ticks) = (now, now, now);
            work.spent = self.stack.spent();
            work.begun = work.spent;
            work.counted.clear();
            work.counted.extend(self.counts.iter().map(|(_, count)| count));
        } else {
            self.stop();
            self.take_samples(work);
            work.end_wait(now, &self.core.outlet.clock);
            let mut pen = Pen { lane: &self.core, state: &mut work.state };
            work.open.settle(&mut pen);
            work.open.unwind(0, now, Reason::Unfinished, &mut pen);
            self.end_window(work, now);
        }
    }

    /// Sets the parent span of all later calls. The current window ends.
    #[cfg(feature = "component-model")]
    pub(crate) fn set_parent(&self, context: Option<&TraceContext>) {
        self.flush();
        let mut work = self.work();
        work.window.parent = context.map(SpanLink::from);
        self.core.set_parent(0, context.cloned());
    }

    /// Ends the current window and writes it.
    pub(crate) fn flush(&self) {
        let mut work = self.work();
        if work.on && !work.closed {
            self.take_samples(&mut work);
            let now = self.core.outlet.clock.now();
            work.end_wait(now, &self.core.outlet.clock);
            self.end_window(&mut work, now);
        }
    }

    /// Writes the last window, and closes open calls with a reason. Nothing is written after that.
    pub(crate) fn close(&self, reason: Reason, now: u64) {
        let mut guard = self.work();
        let work = &mut *guard;
        if std::mem::replace(&mut work.closed, true) {
            return;
        }
        self.stop();
        if work.on {
            self.take_samples(work);
            work.end_wait(now, &self.core.outlet.clock);
            work.open.settle(&mut Pen { lane: &self.core, state: &mut work.state });
            self.end_window(work, now);
        }
        self.core.close(reason, || now);
    }

    /// Writes the window and begins the next.
    fn end_window(&self, work: &mut Work, now: u64) {
        let mut calls = Vec::new();
        for (before, (func, count)) in work.counted.iter_mut().zip(self.counts.iter()) {
            let more = count.wrapping_sub(std::mem::replace(before, count));
            if more > 0 {
                calls.push((func, more));
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
        // Nodes have other numbers from now on.
        work.last_wait = None;
        let (mut nodes, places) = work.tree.take();
        let places = match &self.stack {
            Stack::Native(native) => native.places(&mut nodes, places),
            _ => Vec::new(),
        };
        let mut window = Window { end_ticks: now, nodes, calls, places, ..window };
        window.separate_waits();
        work.open.replant(&mut work.tree);
        let outlet = &self.core.outlet;
        let windows = match &outlet.runs {
            Some(runs) => {
                let spent = self.stack.spent();
                let begun = std::mem::replace(&mut work.begun, spent);
                let running = spent.zip(begun).map(|(now, begun)| now.running.saturating_sub(begun.running));
                runs.add(RunWindow { window, running })
            }
            None => vec![window],
        };
        for window in windows {
            if outlet.queue.send_window(Box::new(window), self.core.waits()) {
                outlet.notices.report(&Notice::QueueFull);
            }
        }
        Pen { lane: &self.core, state: &mut work.state }.flush();
    }
}
