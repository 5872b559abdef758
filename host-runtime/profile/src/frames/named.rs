//! The visitor of a whole trace: of its frames, and of its symbols, spans and moments.

use crate::frames::visitor::Visitor;
use crate::symbols::Symbols;
use kperf_abi::FuncId;
use kperf_trace::{Anchor, CallParent, LaneId, SpanLink};

/// A visitor that keeps the symbols: names are needed while the trace goes by.
pub trait TraceVisitor: Visitor {
    /// The symbols so far.
    fn symbols(&mut self) -> &mut Symbols;

    /// There are more of them.
    fn symbols_added(&mut self) {}

    /// Says whether the calls from here on are slow calls that samples saw. The windows of the profile count these too.
    fn spans(&mut self, _spans: bool) {}

    /// Whose children the host's next calls are.
    fn parent(&mut self, _parent: &CallParent) {}

    /// The host makes a call, which a filter may tell of later.
    fn begins(&mut self, _lane: LaneId) {}

    /// Below which node of its own the tree shall have a window of so many calls that are all below a span, if it is split.
    fn window_of(&mut self, _span: SpanLink, _calls: u64, _nodes: usize) -> Option<FuncId> {
        None
    }

    /// Below which node of its own the tree shall have calls of this function that samples found, if it is split.
    fn slow_call(&mut self, _recorder: u32, _func: FuncId) -> Option<FuncId> {
        None
    }

    /// One more moment, read on the trace's clock and on the calendar's: for visitors that tell calendar time.
    fn anchor(&mut self, _anchor: &Anchor) {}

    /// That was all of the trace.
    fn end(&mut self) {}
}
