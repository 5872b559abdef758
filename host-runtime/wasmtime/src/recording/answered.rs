//! The kinds of recorders that a guest's probes call, and what the probes cost.

use super::Recording;
use kperf_trace::ProbeCost;
use std::sync::PoisonError;

/// What a guest's probes call. A probe's cost depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answered {
    /// A recorder module in the guest's store.
    ByModule,
    /// The recorder inside the guest.
    Inside,
    /// Functions of the host.
    ByHost,
    /// Nothing: functions count their calls in a memory.
    InMemory,
    /// Nothing: functions count their calls in globals.
    InGlobals,
}

/// What counting a call in a global costs at most, in nanoseconds: 0.01 to 0.3 were measured.
const GLOBAL_NANOS: f64 = 0.3;

impl Recording {
    /// Notes what a guest's probes call.
    pub(crate) fn note(&self, answered: Answered) {
        let mut all = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        if !all.contains(&answered) {
            all.push(answered);
        }
    }

    /// What counting a call costs at most, in nanoseconds, if all instances have their counts in globals.
    pub(super) fn count_nanos(&self) -> Option<f64> {
        let answered = self.answered();
        let is_known = answered.contains(&Answered::InGlobals) && !answered.contains(&Answered::InMemory);
        is_known.then_some(GLOBAL_NANOS)
    }

    fn answered(&self) -> Vec<Answered> {
        self.answered.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What the guests' probes cost, if they were all of one kind.
    pub(super) fn probe_cost(&self) -> Option<ProbeCost> {
        let measure = (*self.measure.lock().unwrap_or_else(PoisonError::into_inner))?;
        let mut answered = self.answered();
        answered.retain(|answered| !matches!(answered, Answered::InMemory | Answered::InGlobals));
        match answered[..] {
            [only] => measure(&self.engine, self.choice, only),
            _ => None,
        }
    }
}
