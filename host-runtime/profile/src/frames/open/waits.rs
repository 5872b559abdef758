//! Waits of the guest's own: `memory.atomic.wait32`, which the rewriter puts between an enter and a leave.

use super::Step;
use crate::frames::visitor::Visitor;
use crate::symbols::WAITING;
use kperf_abi::FuncId;
use kperf_abi::word::WAIT_ID;
use kperf_trace::{Event, TimedEvent};

/// The call that is a wait.
pub(super) const WAIT: FuncId = FuncId(WAIT_ID);

impl<V: Visitor> Step<'_, V> {
    /// The guest waits. Answers the events after that.
    pub(super) fn begin_wait<'e>(&mut self, events: &'e [TimedEvent]) -> Result<&'e [TimedEvent], V::Error> {
        self.lane.waits_since = Some(self.lane.now);
        self.go_on_waiting(events)
    }

    /// Takes the events of a wait, if the guest waits, and answers those after it.
    pub(super) fn go_on_waiting<'e>(
        &mut self,
        mut events: &'e [TimedEvent],
    ) -> Result<&'e [TimedEvent], V::Error> {
        while self.lane.waits_since.is_some()
            && let [TimedEvent { ticks, event }, after @ ..] = events
        {
            self.lane.now = self.lane.now.max(*ticks);
            self.lane.last = self.lane.now;
            match *event {
                Event::Enter(_) => {
                    self.enter_wait()?;
                    break;
                }
                Event::Leave => self.end_wait()?,
                // Parts of the wait.
                Event::Pause(_) | Event::Wait(_) => {}
                event => self.rare(event)?,
            }
            events = after;
        }
        Ok(events)
    }

    /// The wait ends now, if the guest waits.
    pub(super) fn end_wait(&mut self) -> Result<(), V::Error> {
        let now = self.lane.now;
        let Some(since) = self.lane.waits_since.take().filter(|&since| since < now) else { return Ok(()) };
        self.visitor.pause(self.lane.id, &mut self.lane.frames, WAITING, now - since, now)
    }

    /// The host calls the guest where it waits, or what the trace says is wrong: from now on the wait is a call like others.
    #[cold]
    pub(super) fn enter_wait(&mut self) -> Result<(), V::Error> {
        if self.lane.waits_since.is_none() {
            return Ok(());
        }
        self.end_wait()?;
        self.lane.calls += 1;
        self.counts.calls += 1;
        if self.lane.over_limit != 0 || self.lane.frames.len() >= self.max {
            return self.enter_beyond(self.lane.now);
        }
        let frame = self.visitor.enter(self.lane.id, &mut self.lane.frames, WAIT, self.lane.now)?;
        self.lane.frames.push(frame);
        Ok(())
    }
}
