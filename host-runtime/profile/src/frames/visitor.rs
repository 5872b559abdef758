//! The visitor of open frames.

use crate::symbols::OTHER;
use kperf_abi::FuncId;
use kperf_abi::word::Reason;
use kperf_trace::{Allocation, LaneId};

/// How a frame was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ending {
    /// The function left.
    Leave,
    /// It was unwound.
    Unwound(Reason),
    /// It was closed somewhere in a gap of the trace. It gets the gap's end as its own.
    Lost,
    /// It was still open when the trace ended: the recording was cut off.
    CutOff,
}

impl Ending {
    /// One or two words for people; `None` for a leave.
    pub fn as_str(self) -> Option<&'static str> {
        match self {
            Ending::Leave => None,
            Ending::Unwound(reason) => Some(reason.as_str()),
            Ending::Lost => Some("lost"),
            Ending::CutOff => Some("cut off"),
        }
    }

    /// Whether an exception ended the call and was caught further out. Then the program went on, and the call is complete.
    pub(crate) fn is_caught(self) -> bool {
        self == Ending::Unwound(Reason::Caught)
    }
}

/// Gets each frame that opens or closes. Ticks never go back within a lane.
pub trait Visitor {
    /// The visitor's data about an open frame.
    type Frame;
    /// The visitor's error, which ends the reading.
    type Error;

    /// The trace begins, with its first lane. Lanes that come later in the file may have begun earlier, unless the reader knows the
    /// beginning ([`TraceReader::with_beginning`](kperf_trace::TraceReader::with_beginning)).
    fn begin(&mut self, _start_ticks: u64) -> Result<(), Self::Error> {
        Ok(())
    }

    /// A lane appears, with its first batch.
    fn lane(&mut self, _lane: LaneId, _start_ticks: u64) -> Result<(), Self::Error> {
        Ok(())
    }

    /// A function was entered, above `parents` (the outermost first). The function is [`LOST`](crate::LOST) if the enter
    /// was lost.
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

    /// The number of calls directly inside a frame that a filter left out: their time is self time of the frame. Called
    /// once, before the frame is closed.
    fn hidden(&mut self, _frame: &mut Self::Frame, _calls: u64) {}

    /// The number of calls in a frame of the function [`OTHER`](crate::OTHER). They have no frames of their own, as too
    /// many were open. Called once, before the frame is closed.
    fn stands_for(&mut self, _frame: &mut Self::Frame, _calls: u64) {}

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

    /// The function of a frame, for visitors that follow memory.
    fn function(&self, _frame: &Self::Frame) -> FuncId {
        OTHER
    }

    /// The innermost open frame allocated or freed memory. `by`: the function that did it: an allocator that has left, or
    /// the innermost frame's own function; [`OTHER`] if it isn't known.
    fn allocation(
        &mut self,
        _lane: LaneId,
        _open: &mut [Self::Frame],
        _by: FuncId,
        _allocation: &Allocation,
        _ticks: u64,
    ) -> Result<(), Self::Error> {
        Ok(())
    }

    /// In the `paused` ticks before `ticks` the guest's thread worked for the recorder or had no processor: `func` is one of
    /// [`PAUSES`](crate::PAUSES). This time is not self time of the innermost frame. Successive pauses of a kind are joined.
    fn pause(
        &mut self,
        _lane: LaneId,
        _open: &mut [Self::Frame],
        _func: FuncId,
        _paused: u64,
        _ticks: u64,
    ) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Events are missing here; `events` is `None` if their number is unknown.
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
