//! Events, their lanes, and the batches that a reader gives.

use kperf_abi::FuncId;
use kperf_abi::word::{Reason, Waited};
use std::fmt;
use std::num::NonZeroU32;

/// One guest stack. Events of different lanes share the clock and nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LaneId {
    /// Which recorder wrote it: one for each store or thread.
    pub recorder: u32,
    /// Which of the recorder's stacks; 0 where stacks are never switched.
    pub stack: u32,
}

impl fmt::Display for LaneId {
    /// `0`, or `0.3` for a stack other than the first.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.stack {
            0 => write!(f, "{}", self.recorder),
            stack => write!(f, "{}.{stack}", self.recorder),
        }
    }
}

/// An event of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// A function is called: one more frame is open.
    Enter(FuncId),
    /// The innermost frame is closed.
    Leave,
    /// Frames deeper than `depth` are closed.
    Unwind {
        /// How many frames stay open.
        depth: u32,
        /// Why they are closed.
        reason: Reason,
    },
    /// A point in time that the host has marked, with its number (26 bits).
    Mark(u32),
    /// A word of a record of memory ([`kperf_abi::allocation`]), whose other words follow. It happened at the previous event.
    Memory(u32),
    /// How many ticks since the previous event were not the guest's: its thread handed a block
    /// to the recorder's host, or waited until there was room for it.
    Pause(u32),
    /// A part of the ticks since the previous event in which the guest's thread had no processor.
    Wait(Waited),
    /// Events are missing here. Frames that were open before may be closed; frames that are open now may have opened in
    /// between. [`Batch::depth`] says how many are open.
    Lost {
        /// How many; `None` if unknown, `u32::MAX` for that many or more.
        events: Option<NonZeroU32>,
    },
}

/// An event and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimedEvent {
    /// Reading of the trace's clock, absolute; [`Header::nanos_since_anchor`](crate::Header::nanos_since_anchor) and its
    /// neighbours make times of it.
    pub ticks: u64,
    /// The event itself.
    pub event: Event,
}

// A batch passes through the cache on its way to the call tree: half a cache line more per event can be measured.
const _: () = assert!(size_of::<TimedEvent>() == 16);

/// Events that follow each other on one lane, in the order in which they happened; their ticks never go back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch<'a> {
    /// Where they happened.
    pub lane: LaneId,
    /// How many frames were open before the first event, according to the recorder. If events were lost before the recorder
    /// switched to this stack, its depth is unknown: then this is the number of frames that the batch's own events close.
    /// A malicious file may have any number here.
    pub depth: u32,
    /// The time before the first event: the time of the lane's last event, or of the switch to it.
    pub start_ticks: u64,
    /// If instructions are the clock: how many of them the recorder's other stacks have executed since this one ran first. The lane's
    /// times plus this are the recorder's times.
    pub elsewhere: u64,
    /// The events. Not empty. [`Event::Lost`] is only the first.
    pub events: &'a [TimedEvent],
}

/// The depth of a stack after these events.
pub(crate) fn depth_after(depth: u32, events: &[TimedEvent]) -> u32 {
    events.iter().fold(depth, |depth, timed| match timed.event {
        Event::Enter(_) => depth.saturating_add(1),
        Event::Leave => depth.saturating_sub(1),
        Event::Unwind { depth: to, .. } => depth.min(to),
        Event::Mark(_) | Event::Memory(_) | Event::Pause(_) | Event::Wait(_) | Event::Lost { .. } => depth,
    })
}

/// The minimal number of open frames with which each of these events finds the frame that it closes.
pub(crate) fn depth_needed(events: &[TimedEvent]) -> u32 {
    let (mut needed, mut open) = (0u32, 0u32);
    for timed in events {
        match timed.event {
            Event::Enter(_) => open = open.saturating_add(1),
            Event::Leave if open == 0 => needed = needed.saturating_add(1),
            Event::Leave => open -= 1,
            // So many frames stay open, and the depth is known from now on.
            Event::Unwind { depth, .. } => return needed.saturating_add(depth.saturating_sub(open)),
            Event::Mark(_) | Event::Memory(_) | Event::Pause(_) | Event::Wait(_) | Event::Lost { .. } => {}
        }
    }
    needed
}
