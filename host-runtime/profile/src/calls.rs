//! What wants to see the calls one by one while the call tree grows.

use crate::frames::Ending;
use kperf_abi::FuncId;
use kperf_trace::LaneId;

/// A call that has ended. Calls of one lane and depth come in the order of time, and don't overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Where.
    pub lane: LaneId,
    /// How many frames were open outside it.
    pub depth: usize,
    /// Who was called.
    pub func: FuncId,
    /// When it was entered.
    pub start_ticks: u64,
    /// When it ended; not before its start.
    pub end_ticks: u64,
    /// How.
    pub ending: Ending,
}

impl Call {
    /// How long it took.
    pub fn ticks(&self) -> u64 {
        self.end_ticks.saturating_sub(self.start_ticks)
    }
}

/// Sees every call when it ends. `()` looks away, a pair are two that look.
pub trait CallObserver {
    /// A call has ended.
    fn call(&mut self, call: &Call);
}

impl CallObserver for () {
    #[inline]
    fn call(&mut self, _call: &Call) {}
}

impl<A: CallObserver, B: CallObserver> CallObserver for (A, B) {
    #[inline]
    fn call(&mut self, call: &Call) {
        self.0.call(call);
        self.1.call(call);
    }
}

impl<O: CallObserver> CallObserver for Option<O> {
    #[inline]
    fn call(&mut self, call: &Call) {
        if let Some(observer) = self {
            observer.call(call);
        }
    }
}
