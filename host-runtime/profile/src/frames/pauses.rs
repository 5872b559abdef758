//! The parts of a time that are no function's self time.

use crate::symbols::PAUSES;
use kperf_abi::FuncId;
use kperf_trace::{Event, Wait};

/// Sums of ticks before a moment, in the order of [`PAUSES`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pauses {
    pub(crate) ticks: [u64; PAUSES.len()],
    /// When the last one ended.
    pub(crate) end: u64,
}

impl Pauses {
    /// One pause of a function of [`PAUSES`].
    pub(crate) fn of(func: FuncId, ticks: u64, end: u64) -> Pauses {
        Pauses { ticks: PAUSES.map(|pause| if pause == func { ticks } else { 0 }), end }
    }

    /// Adds an event's. Returns whether it is a pause.
    pub(crate) fn add(&mut self, event: Event) -> bool {
        let [recorder, processor, waiting] = &mut self.ticks;
        let (sum, ticks) = match event {
            Event::Pause(ticks) => (recorder, u64::from(ticks)),
            Event::Wait(waited) if waited.wait() == Wait::Own => (waiting, waited.ticks()),
            Event::Wait(waited) => (processor, waited.ticks()),
            _ => return false,
        };
        *sum = sum.saturating_add(ticks);
        true
    }

    /// Adds those of a callee that is left out.
    pub(crate) fn join(&mut self, other: &Pauses) {
        for (sum, more) in self.ticks.iter_mut().zip(other.ticks) {
            *sum = sum.saturating_add(more);
        }
        self.end = self.end.max(other.end);
    }

    /// No more than so many ticks in all.
    pub(crate) fn within(mut self, mut room: u64) -> Pauses {
        for ticks in &mut self.ticks {
            *ticks = (*ticks).min(room);
            room -= *ticks;
        }
        self
    }

    /// The function, the length and the end of each, one after the other.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (FuncId, u64, u64)> {
        let all = self.ticks.iter().fold(0u64, |sum, ticks| sum.saturating_add(*ticks));
        let mut end = self.end.saturating_sub(all);
        PAUSES.into_iter().zip(self.ticks).filter(|(_, ticks)| *ticks > 0).map(move |(func, ticks)| {
            end = end.saturating_add(ticks);
            (func, ticks, end)
        })
    }
}
