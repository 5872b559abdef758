//! What happened: events, the lanes they happened on, and the batches a reader gives them in.

use kperf_abi::FuncId;
use kperf_abi::word::Reason;
use std::fmt;
use std::num::NonZeroU32;

/// One guest stack. Events of different lanes have nothing to do with each other but the clock.
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

/// What can happen on a lane.
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
        /// Why.
        reason: Reason,
    },
    /// A point in time that the host wanted to see, with its number (26 bits).
    Mark(u32),
    /// Events are missing here: what was open before may be closed, what is open now may never have been seen to open.
    /// [`Batch::depth`] says how many frames are.
    Lost {
        /// How many, where that is known; `u32::MAX` for that many or more.
        events: Option<NonZeroU32>,
    },
}

/// An event and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimedEvent {
    /// Reading of the trace's clock, absolute; [`Header::nanos_since_anchor`](crate::Header::nanos_since_anchor) and its
    /// neighbours make times of it.
    pub ticks: u64,
    /// What happened.
    pub event: Event,
}

// A batch passes through the cache on its way to the call tree: half a cache line more per event can be measured.
const _: () = assert!(size_of::<TimedEvent>() == 16);

/// Events that follow each other on one lane, in the order in which they happened; their ticks never go back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch<'a> {
    /// Where they happened.
    pub lane: LaneId,
    /// How many frames were open before the first event, as the recorder says. For a stack that the recorder switched to
    /// before it said anything of it since events were lost: as many as the batch's own events close. Of a file that was
    /// made to deceive this may be any number.
    pub depth: u32,
    /// The time before the first event: of the lane's last event, or of the switch to it.
    pub start_ticks: u64,
    /// The events. Not empty. [`Event::Lost`] stands only at the front.
    pub events: &'a [TimedEvent],
}
