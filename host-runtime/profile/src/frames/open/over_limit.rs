//! Calls over the limit of open frames, which one frame represents.

use super::Step;
use crate::frames::visitor::{Ending, Visitor};
use crate::symbols::OTHER;

impl<V: Visitor> Step<'_, V> {
    /// A function is entered for which no frame is kept.
    #[cold]
    pub(super) fn enter_beyond(&mut self, ticks: u64) -> Result<(), V::Error> {
        if self.lane.over_limit == 0 {
            let frame = self.visitor.enter(self.lane.id, &mut self.lane.frames, OTHER, ticks)?;
            self.lane.frames.push(frame);
            self.lane.over_limit_calls = 0;
        }
        self.lane.over_limit += 1;
        self.lane.over_limit_calls += 1;
        self.counts.over_limit += 1;
        Ok(())
    }

    /// Closes `count` of the open frames that are not kept. The frame that represents them closes with the last.
    #[cold]
    pub(super) fn leave_beyond(&mut self, closed: usize, ending: Ending, ticks: u64) -> Result<(), V::Error> {
        self.lane.over_limit = self.lane.over_limit.saturating_sub(closed);
        if self.lane.over_limit != 0 {
            return Ok(());
        }
        let Some(mut frame) = self.lane.frames.pop() else { return Ok(()) };
        self.lane.left = OTHER;
        self.visitor.stands_for(&mut frame, self.lane.over_limit_calls);
        self.visitor.leave(self.lane.id, &mut self.lane.frames, frame, ending, ticks)
    }
}
