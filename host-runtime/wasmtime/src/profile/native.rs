//! Native stacks: finds the open calls on the guest's own thread.
//!
//! A timer interrupts the thread, and its signal handler walks the frames. The stack doesn't change meanwhile, and the
//! guest only counts its calls. A function's count identifies its open call: while the count is the same, so is the call.

mod beat;
mod code;
mod cost;
mod pace;
mod places;
mod registers;
mod ring;
mod sample;
mod sampling;
mod target;
mod thread;
mod timer;
mod unwinding;

pub(crate) use beat::{Beat, BeatTotal, this_thread};
pub(crate) use code::Code;
pub(crate) use pace::Pace;
pub(crate) use sample::Sample;
pub(crate) use target::Target;
pub(crate) use thread::Thread;

use super::spent::Spent;
use super::tree::NativePlace;
use crate::clock::source::Clock;
use kperf_abi::shadow::Slot;
use kperf_trace::{WindowNode, WindowPlace};
use ring::{Ring, Task};
use sampling::Sampling;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use timer::Timer;

/// One instance, and the thread that runs it.
pub(crate) struct Native {
    target: Target,
    clock: Clock,
    pace: Arc<Pace>,
    period: Duration,
    ring: &'static Ring,
    number: usize,
    timer: Mutex<Option<Timer>>,
}

impl Native {
    /// Whether threads can be sampled on this machine.
    pub(crate) const IS_THERE: bool = true;

    /// Samples nothing yet.
    pub(crate) fn new(
        target: Target,
        clock: Clock,
        pace: Arc<Pace>,
        period: Duration,
    ) -> Result<Native, &'static str> {
        let (ring, number) =
            Ring::take().ok_or("too many instances are sampled on native stacks at a time")?;
        Ok(Native { target, clock, pace, period, ring, number, timer: Mutex::new(None) })
    }

    /// Whether samples can't distinguish these two instances.
    pub(crate) fn is_same(&self, other: &Target) -> bool {
        self.target.is_same(other)
    }

    /// Starts sampling. A thread that has ended gives no samples.
    pub(crate) fn start(&self) -> io::Result<()> {
        let mut timer = self.timer.lock().unwrap_or_else(PoisonError::into_inner);
        if timer.is_some() {
            return Ok(());
        }
        let thread = self.target.thread.id();
        self.ring.begin(
            thread,
            Task {
                job: Box::new(Sampling::of(&self.target)),
                clock: self.clock.clone(),
                pace: self.pace.clone(),
                period: timer::nanos(self.period),
            },
        );
        *timer = Some(Timer::start(thread, self.number, self.period)?);
        Ok(())
    }

    /// How the thread has spent its time so far; `None` if it has ended.
    pub(crate) fn spent(&self) -> Option<Spent> {
        let thread = &self.target.thread;
        let waits = (thread.id() == thread::id()).then(thread::waits);
        let sampling = self.ring.taken();
        let running = thread.processor_time()?.saturating_sub(sampling);
        Some(Spent { running, sampling, waiting: thread.waited().unwrap_or(0), waits })
    }

    /// Stops sampling. Samples already taken can still be read.
    pub(crate) fn stop(&self) {
        self.timer.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.ring.stop();
    }

    /// The next sample. Puts the open calls into `path`, outermost first.
    pub(crate) fn next(&self, path: &mut Vec<Slot>) -> Option<Sample> {
        self.ring.next(path)
    }

    /// Converts these places of `nodes` to offsets in the original module's functions, in the order of the nodes.
    pub(crate) fn places(&self, nodes: &mut [WindowNode], places: Vec<NativePlace>) -> Vec<WindowPlace> {
        self.target.code.places(nodes, places)
    }

    /// How many samples were lost for lack of room since the last call.
    pub(crate) fn lost(&self) -> u64 {
        self.ring.lost()
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        self.stop();
        self.ring.give_back();
    }
}

/// Whether the process still has the signal handler of [`prepare`].
pub(crate) fn is_ours() -> bool {
    timer::is_ours()
}

/// Prepares this process.
pub(crate) fn prepare(clock: &Clock) -> Result<(), io::Error> {
    unwinding::find_objects();
    timer::install()?;
    cost::measure(clock);
    Ok(())
}
