//! The observer of the calls that grow a call tree.

use crate::frames::visitor::Ending;
use crate::symbols::Symbols;
use crate::tree::nodes::NodeId;
use kperf_abi::FuncId;
use kperf_trace::{Allocation, CallParent, Header, LaneId, SpanLink};

/// A call that has ended. Calls of one lane and depth come in the order of time, and don't overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The lane that it was on.
    pub lane: LaneId,
    /// How many frames were open outside it.
    pub depth: usize,
    /// The function that was called.
    pub func: FuncId,
    /// The node of the call tree that it counts for.
    pub node: NodeId,
    /// Whether a call around it counts for the same node, which has its time already: calls over the limit share a node.
    pub is_shared: bool,
    /// When it was entered, in ticks.
    pub start_ticks: u64,
    /// When it ended, in ticks; not before its start.
    pub end_ticks: u64,
    /// How it ended.
    pub ending: Ending,
}

impl Call {
    /// How long it took.
    pub fn ticks(&self) -> u64 {
        self.end_ticks.saturating_sub(self.start_ticks)
    }
}

/// Sees every call when it ends. `()` sees nothing; a pair of observers is one that shows each call to both, and doesn't split the tree.
pub trait CallObserver {
    /// A call has ended.
    fn call(&mut self, call: &Call);

    /// A module's symbols were added.
    fn symbols(&mut self, _symbols: &Symbols) {}

    /// The trace names the parent of the host's next calls.
    fn parent(&mut self, _parent: &CallParent) {}

    /// The host makes a call on a lane, and the tree has `nodes` nodes. Only called where the trace is filtered.
    fn begins(&mut self, _lane: LaneId, _nodes: usize) {}

    /// The link that the lane's next outermost call goes below, if the tree is split by spans.
    fn tree_of(&mut self, _lane: LaneId, _nodes: usize) -> Option<FuncId> {
        None
    }

    /// The same for a window of `calls` calls, all below a span.
    fn window_of(&mut self, _span: SpanLink, _calls: u64, _nodes: usize) -> Option<FuncId> {
        None
    }

    /// A call of this node allocated or freed memory. `by`: the function that did it, an allocator that has left or the
    /// node's function; [`OTHER`](crate::OTHER) if that isn't known.
    fn allocation(
        &mut self,
        _lane: LaneId,
        _node: NodeId,
        _by: FuncId,
        _allocation: &Allocation,
        _ticks: u64,
    ) {
    }

    /// The trace begins.
    fn begin(&mut self, _header: &Header) {}

    /// The trace has ended.
    fn end(&mut self) {}
}

impl CallObserver for () {
    #[inline]
    fn call(&mut self, _call: &Call) {}
}

impl<A: CallObserver, B: CallObserver> CallObserver for (A, B) {
    #[inline]
    fn call(&mut self, call: &Call) {
        self.0.call(call);
        self.1.call(call);
    }

    fn symbols(&mut self, symbols: &Symbols) {
        self.0.symbols(symbols);
        self.1.symbols(symbols);
    }

    fn parent(&mut self, parent: &CallParent) {
        self.0.parent(parent);
        self.1.parent(parent);
    }

    fn begins(&mut self, lane: LaneId, nodes: usize) {
        self.0.begins(lane, nodes);
        self.1.begins(lane, nodes);
    }

    fn tree_of(&mut self, lane: LaneId, nodes: usize) -> Option<FuncId> {
        self.0.tree_of(lane, nodes).or_else(|| self.1.tree_of(lane, nodes))
    }

    fn window_of(&mut self, span: SpanLink, calls: u64, nodes: usize) -> Option<FuncId> {
        self.0.window_of(span, calls, nodes).or_else(|| self.1.window_of(span, calls, nodes))
    }

    fn allocation(&mut self, lane: LaneId, node: NodeId, by: FuncId, allocation: &Allocation, ticks: u64) {
        self.0.allocation(lane, node, by, allocation, ticks);
        self.1.allocation(lane, node, by, allocation, ticks);
    }

    fn begin(&mut self, header: &Header) {
        self.0.begin(header);
        self.1.begin(header);
    }

    fn end(&mut self) {
        self.0.end();
        self.1.end();
    }
}

impl<O: CallObserver> CallObserver for Option<O> {
    #[inline]
    fn call(&mut self, call: &Call) {
        if let Some(observer) = self {
            observer.call(call);
        }
    }

    fn symbols(&mut self, symbols: &Symbols) {
        if let Some(observer) = self {
            observer.symbols(symbols);
        }
    }

    fn allocation(&mut self, lane: LaneId, node: NodeId, by: FuncId, allocation: &Allocation, ticks: u64) {
        if let Some(observer) = self {
            observer.allocation(lane, node, by, allocation, ticks);
        }
    }

    fn begin(&mut self, header: &Header) {
        if let Some(observer) = self {
            observer.begin(header);
        }
    }

    fn end(&mut self) {
        if let Some(observer) = self {
            observer.end();
        }
    }
}
