//! The visitor of a whole trace: frames, symbols, spans, parents and anchors.

use crate::frames::visitor::Visitor;
use crate::symbols::Symbols;
use kperf_abi::FuncId;
use kperf_trace::{Anchor, CallParent, LaneId, SpanLink};

/// A visitor that also gets symbols, spans, parents and anchors. It keeps the symbols, as names are needed while the trace is read.
pub trait TraceVisitor: Visitor {
    /// The symbols so far.
    fn symbols(&mut self) -> &mut Symbols;

    /// A module's symbols were added.
    fn symbols_added(&mut self) {}

    /// Whether the next calls are slow calls that samples saw. The windows of the profile count them too.
    fn spans(&mut self, _spans: bool) {}

    /// The parent of the host's next calls.
    fn parent(&mut self, _parent: &CallParent) {}

    /// The host makes a call; a filter may pass it on later.
    fn begins(&mut self, _lane: LaneId) {}

    /// The link above a window's calls, if the tree is split by spans. The window has `calls` calls, all with the parent `span`.
    fn window_of(&mut self, _span: SpanLink, _calls: u64, _nodes: usize) -> Option<FuncId> {
        None
    }

    /// A moment on the trace's clock and on the calendar's, for visitors that write calendar time.
    fn anchor(&mut self, _anchor: &Anchor) {}

    /// The trace has ended.
    fn end(&mut self) {}
}
