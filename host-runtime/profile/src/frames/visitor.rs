//! What wants to know of the frames.

use kperf_abi::FuncId;
use kperf_abi::word::Reason;
use kperf_trace::LaneId;

/// How a frame was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ending {
    /// The function left.
    Leave,
    /// It was unwound.
    Unwound(Reason),
    /// Somewhere in a gap of the trace; its end is the gap's.
    Lost,
    /// The trace ended without a word about it: the recording was cut off.
    CutOff,
}

impl Ending {
    /// One or two words for people; `None` for a leave, which is nothing special.
    pub fn as_str(self) -> Option<&'static str> {
        match self {
            Ending::Leave => None,
            Ending::Unwound(reason) => Some(reason.as_str()),
            Ending::Lost => Some("lost"),
            Ending::CutOff => Some("cut off"),
        }
    }

    /// Whether an exception was caught further out: the program went on, and the call is as complete as any.
    pub fn is_caught(self) -> bool {
        self == Ending::Unwound(Reason::Caught)
    }
}

/// What wants to know of the frames. Ticks never go back within a lane.
pub trait Visitor {
    /// What the visitor remembers of an open frame.
    type Frame;
    /// Why it may want to stop.
    type Error;

    /// The trace begins: its first lane does, though others may turn out to have begun earlier.
    fn begin(&mut self, _start_ticks: u64) -> Result<(), Self::Error> {
        Ok(())
    }

    /// A lane appears, with its first batch.
    fn lane(&mut self, _lane: LaneId, _start_ticks: u64) -> Result<(), Self::Error> {
        Ok(())
    }

    /// A function was entered, above `parents` (the outermost first). [`LOST`](crate::LOST) stands for one whose enter was lost.
    fn enter(
        &mut self,
        lane: LaneId,
        parents: &mut [Self::Frame],
        func: FuncId,
        ticks: u64,
    ) -> Result<Self::Frame, Self::Error>;

    /// A frame was closed.
    fn leave(
        &mut self,
        lane: LaneId,
        parents: &mut [Self::Frame],
        frame: Self::Frame,
        ending: Ending,
        ticks: u64,
    ) -> Result<(), Self::Error>;

    /// So many calls inside a frame were left out by a filter, and not inside frames that it called: their time is its
    /// own. Told before it is closed, once.
    fn hidden(&mut self, _frame: &mut Self::Frame, _calls: u64) {}

    /// The host marked a point in time.
    fn mark(
        &mut self,
        _lane: LaneId,
        _open: &mut [Self::Frame],
        _value: u32,
        _ticks: u64,
    ) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Events are missing here; how many, if that is known.
    fn lost(
        &mut self,
        _lane: LaneId,
        _open: &mut [Self::Frame],
        _events: Option<u64>,
        _ticks: u64,
    ) -> Result<(), Self::Error> {
        Ok(())
    }
}
