//! Builds the call tree while the trace is read.

use crate::frames::counts::Counts;
use crate::frames::named::TraceVisitor;
use crate::frames::open::{Frames, LaneStatus};
use crate::frames::problem::Problems;
use crate::frames::visitor::{Ending, Visitor};
use crate::limits::MAX_PATHS;
use crate::symbols::{HOST, OTHER, Symbols};
use crate::tree::nodes::{CallTree, Node, NodeId};
use crate::tree::observer::{Call, CallObserver};
use crate::tree::unplaced::{Unplaced, UnplacedCall};
use crate::unit::Unit;
use kperf_abi::FuncId;
use kperf_trace::{Allocation, Batch, CallParent, LaneId, SpanLink};
use rustc_hash::FxHashMap;
use std::io;

/// Takes the batches of a trace and grows the tree. Its memory: a node for each path, [`MAX_PATHS`] of them at most, and a
/// frame for each open call, [`MAX_OPEN_FRAMES`](crate::MAX_OPEN_FRAMES) at most.
#[derive(Clone, Debug)]
pub struct CallTreeBuilder {
    frames: Frames<Growth<()>>,
}

impl Default for CallTreeBuilder {
    fn default() -> Self {
        CallTreeBuilder::new()
    }
}

impl CallTreeBuilder {
    /// A tree with only its root.
    pub fn new() -> CallTreeBuilder {
        CallTreeBuilder { frames: Frames::new(Growth::new(())) }
    }

    /// A tree with only its root. It gets at most `paths` nodes, not counting nodes of [`OTHER`](crate::OTHER), and keeps at
    /// most `open_frames` open frames.
    pub fn with_limits(paths: usize, open_frames: usize) -> CallTreeBuilder {
        let growth = Growth { max_nodes: paths, ..Growth::new(()) };
        CallTreeBuilder { frames: Frames::with_limit(growth, open_frames) }
    }

    /// Takes the next batch.
    pub fn push(&mut self, batch: &Batch<'_>) {
        match self.frames.push(batch) {
            Ok(()) => {}
            Err(never) => match never {},
        }
    }

    /// The lanes so far, in the order in which they first appeared.
    pub fn lanes(&self) -> Vec<LaneStatus> {
        self.frames.lanes().collect()
    }

    /// How often each kind of event happened so far.
    pub fn counts(&self) -> &Counts {
        self.frames.counts()
    }

    /// Events that contradict each other so far.
    pub fn problems(&self) -> &Problems {
        self.frames.problems()
    }

    /// The time of the last event of any lane, in ticks; 0 if there is none.
    pub fn last_ticks(&self) -> u64 {
        self.frames.last_ticks()
    }

    /// Closes open calls as cut off at `end_ticks`, or at their lane's last event if that is later.
    pub fn close(&mut self, end_ticks: u64) {
        match self.frames.finish(end_ticks, Unit::Time) {
            Ok(()) => {}
            Err(never) => match never {},
        }
    }

    /// The tree. Open calls are closed as [`CallTreeBuilder::close`] does.
    pub fn finish(mut self, end_ticks: u64) -> CallTree {
        self.close(end_ticks);
        let mut growth = self.frames.into_visitor();
        growth.end();
        growth.into_tree()
    }
}

/// Growing doesn't fail.
#[derive(Debug)]
pub(crate) enum Never {}

impl From<Never> for io::Error {
    fn from(never: Never) -> io::Error {
        match never {}
    }
}

/// The tree that grows. Both vectors are indexed by node: parents come before children, the root is first.
#[derive(Clone, Debug)]
pub(crate) struct Growth<O> {
    pub(crate) observer: O,
    /// For filters; not used by the tree.
    pub(crate) symbols: Symbols,
    nodes: Vec<Node>,
    /// With this many nodes the tree is full and only gets nodes of [`OTHER`]. A node has at most one such child, which has
    /// no children.
    max_nodes: usize,
    callees: Vec<Callees>,
    /// Node by parent and function, for the children that are not at hand in the parent's [`Callees`].
    others: FxHashMap<(u32, FuncId), u32>,
    /// The calls in nodes of [`OTHER`], by function.
    pub(crate) unplaced: Unplaced,
    /// The parent of outermost calls: the tree's root, or the root of the slow calls that samples saw.
    root: u32,
    /// The root of slow calls, if there are any. The observer sees them; the finished tree doesn't have them.
    spans: Option<u32>,
}

/// How many of the innermost calls around a call are searched for its function.
const MAX_LOOKED_AT: usize = 4096;

/// How many children of a node are found without hashing.
const AT_HAND: usize = 8;

/// A node's children at hand: the first seven, and the last used of the others. Functions in the child of [`OTHER`] count
/// as children. It is one cache line, since in a large tree every call waits for it.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Callees {
    /// A free place has [`HOST`], which is never called.
    funcs: [FuncId; AT_HAND],
    nodes: [u32; AT_HAND],
}

impl Callees {
    const NONE: Callees = Callees { funcs: [HOST; AT_HAND], nodes: [0; AT_HAND] };
}

/// An open frame.
#[derive(Clone, Debug)]
pub(crate) struct OpenFrame {
    node: u32,
    func: FuncId,
    start_ticks: u64,
    /// The time of its ended callees, in ticks.
    children_ticks: u64,
}

impl<O: CallObserver> Growth<O> {
    pub(crate) fn new(observer: O) -> Growth<O> {
        let root = Node::new(CallTree::ROOT, HOST);
        let (symbols, others) = (Symbols::default(), FxHashMap::default());
        let (nodes, callees) = (vec![root], vec![Callees::NONE]);
        Growth {
            observer,
            symbols,
            nodes,
            max_nodes: MAX_PATHS,
            callees,
            others,
            unplaced: Unplaced::default(),
            root: 0,
            spans: None,
        }
    }

    /// The complete tree.
    pub(crate) fn into_tree(mut self) -> CallTree {
        let unplaced = std::mem::take(&mut self.unplaced);
        CallTree::new(self.into_nodes().0).with_unplaced(unplaced)
    }

    /// The nodes of the tree, with the root not complete yet, and the observer of its calls.
    pub(crate) fn into_nodes(self) -> (Vec<Node>, O) {
        let Some(spans) = self.spans else { return (self.nodes, self.observer) };
        let mut places: Vec<Option<NodeId>> = Vec::with_capacity(self.nodes.len());
        let mut kept: Vec<Node> = Vec::new();
        for (index, node) in (0u32..).zip(&self.nodes) {
            let parent =
                if index == 0 { Some(NodeId(0)) } else { places.get(node.parent.index()).copied().flatten() };
            let place = parent.filter(|_| index != spans).map(|parent| {
                kept.push(Node { parent, ..*node });
                NodeId(kept.len() as u32 - 1)
            });
            places.push(place);
        }
        (kept, self.observer)
    }

    #[inline]
    fn child(&mut self, parent: u32, func: FuncId) -> u32 {
        let callees = &self.callees[parent as usize];
        // This compares all of them, without a branch that could be mispredicted.
        let mut found = 0;
        for (&at_hand, &node) in callees.funcs.iter().zip(&callees.nodes) {
            found |= if at_hand == func { node } else { 0 };
        }
        if found != 0 { found } else { self.other_child(parent, func) }
    }

    /// The parent of an outermost call of this lane.
    #[inline]
    fn outermost(&mut self, lane: LaneId) -> u32 {
        if self.root != 0 {
            return self.root;
        }
        match self.observer.tree_of(lane, self.nodes.len()) {
            Some(link) => self.child(0, link),
            None => 0,
        }
    }

    #[cold]
    fn leave_unplaced(&mut self, parents: &[OpenFrame], frame: &OpenFrame, ticks: u64, ending: Ending) {
        let (func, caller) = (frame.func, parents.last().map_or(HOST, |parent| parent.func));
        let first = parents.len().saturating_sub(MAX_LOOKED_AT);
        let (mut is_outermost, mut is_outermost_of_arc) = (true, true);
        let mut above = if first == 0 { HOST } else { OTHER };
        for parent in parents.iter().skip(first) {
            if parent.func == func {
                is_outermost = false;
                is_outermost_of_arc &= above != caller;
            }
            above = parent.func;
        }
        let call = UnplacedCall {
            ticks,
            self_ticks: ticks.saturating_sub(frame.children_ticks),
            is_outermost,
            is_outermost_of_arc,
            unwound: ending.is_caught(),
            unfinished: ending != Ending::Leave && !ending.is_caught(),
        };
        self.unplaced.add(func, caller, call);
    }

    fn other_child(&mut self, parent: u32, func: FuncId) -> u32 {
        let callees = &self.callees[parent as usize];
        let free = callees.funcs.iter().position(|&at_hand| at_hand == HOST).unwrap_or(AT_HAND);
        let child = self.unseen_child(parent, func, free < AT_HAND - 1);
        let place = free.min(AT_HAND - 1);
        let callees = &mut self.callees[parent as usize];
        (callees.funcs[place], callees.nodes[place]) = (func, child);
        child
    }

    /// A child that isn't at hand. `is_new`: the parent has no such child yet. Over the limit it is the child of [`OTHER`].
    fn unseen_child(&mut self, parent: u32, func: FuncId, is_new: bool) -> u32 {
        let next = self.nodes.len() as u32;
        let mut place = (parent, func);
        if self.nodes.len() >= self.max_nodes {
            if self.nodes[parent as usize].func == OTHER {
                return parent;
            }
            if let Some(&known) = self.others.get(&place) {
                return known;
            }
            place.1 = OTHER;
        }
        let child = if is_new && place.1 != OTHER { next } else { *self.others.entry(place).or_insert(next) };
        if child == next {
            self.nodes.push(Node::new(NodeId(parent), place.1));
            self.callees.push(Callees::NONE);
        }
        child
    }
}

impl<O: CallObserver> Visitor for Growth<O> {
    type Frame = OpenFrame;
    type Error = Never;

    #[inline]
    fn enter(
        &mut self,
        lane: LaneId,
        parents: &mut [OpenFrame],
        func: FuncId,
        ticks: u64,
    ) -> Result<OpenFrame, Never> {
        let parent = match parents.last() {
            Some(parent) => parent.node,
            None => self.outermost(lane),
        };
        Ok(OpenFrame { node: self.child(parent, func), func, start_ticks: ticks, children_ticks: 0 })
    }

    #[inline]
    fn leave(
        &mut self,
        lane: LaneId,
        parents: &mut [OpenFrame],
        frame: OpenFrame,
        ending: Ending,
        ticks: u64,
    ) -> Result<(), Never> {
        let duration = ticks.saturating_sub(frame.start_ticks);
        // Calls inside of OTHER are in the same node, which has the total of the outermost calls.
        let mut of_node = duration;
        let mut is_shared = false;
        if let Some(parent) = parents.last_mut() {
            parent.children_ticks = parent.children_ticks.saturating_add(duration);
            is_shared = parent.node == frame.node;
            of_node = if is_shared { 0 } else { duration };
        }
        let node = &mut self.nodes[frame.node as usize];
        node.calls += 1;
        node.total_ticks = node.total_ticks.saturating_add(of_node);
        node.self_ticks = node.self_ticks.saturating_add(duration.saturating_sub(frame.children_ticks));
        node.min_ticks = node.min_ticks.min(duration);
        node.max_ticks = node.max_ticks.max(duration);
        if ending != Ending::Leave {
            let count = if ending.is_caught() { &mut node.unwound } else { &mut node.unfinished };
            *count = count.saturating_add(1);
        }
        if node.func == OTHER && frame.func != OTHER {
            self.leave_unplaced(parents, &frame, duration, ending);
        }
        let (depth, func, start_ticks) = (parents.len(), frame.func, frame.start_ticks);
        self.observer.call(&Call {
            lane,
            depth,
            func,
            node: NodeId(frame.node),
            is_shared,
            start_ticks,
            end_ticks: ticks.max(start_ticks),
            ending,
        });
        Ok(())
    }

    fn function(&self, frame: &OpenFrame) -> FuncId {
        frame.func
    }

    fn allocation(
        &mut self,
        lane: LaneId,
        open: &mut [OpenFrame],
        by: FuncId,
        allocation: &Allocation,
        ticks: u64,
    ) -> Result<(), Never> {
        let node = open.last().map_or(self.root, |innermost| innermost.node);
        self.observer.allocation(lane, NodeId(node), by, allocation, ticks);
        Ok(())
    }

    /// A call of `func`.
    fn pause(
        &mut self,
        lane: LaneId,
        open: &mut [OpenFrame],
        func: FuncId,
        paused: u64,
        ticks: u64,
    ) -> Result<(), Never> {
        let Some(innermost) = open.last() else { return Ok(()) };
        let end = ticks.max(innermost.start_ticks);
        let start = end.saturating_sub(paused).max(innermost.start_ticks);
        let frame = self.enter(lane, open, func, start)?;
        let node = frame.node as usize;
        self.leave(lane, open, frame, Ending::Leave, end)?;
        // The guest called nothing.
        self.nodes[node].calls = self.nodes[node].calls.saturating_sub(1);
        Ok(())
    }

    fn hidden(&mut self, frame: &mut OpenFrame, calls: u64) {
        let node = &mut self.nodes[frame.node as usize];
        node.hidden_calls = node.hidden_calls.saturating_add(calls);
    }

    fn stands_for(&mut self, frame: &mut OpenFrame, calls: u64) {
        let node = &mut self.nodes[frame.node as usize];
        node.calls += calls.saturating_sub(1);
    }
}

impl<O: CallObserver> TraceVisitor for Growth<O> {
    fn symbols(&mut self) -> &mut Symbols {
        &mut self.symbols
    }

    fn symbols_added(&mut self) {
        self.observer.symbols(&self.symbols);
    }

    fn parent(&mut self, parent: &CallParent) {
        self.observer.parent(parent);
    }

    fn end(&mut self) {
        self.observer.end();
    }

    fn begins(&mut self, lane: LaneId) {
        self.observer.begins(lane, self.nodes.len());
    }

    fn window_of(&mut self, span: SpanLink, calls: u64, nodes: usize) -> Option<FuncId> {
        self.observer.window_of(span, calls, nodes)
    }

    fn spans(&mut self, spans: bool) {
        self.root = 0;
        if spans {
            let next = self.nodes.len() as u32;
            self.root = *self.spans.get_or_insert(next);
            if self.root == next {
                self.nodes.push(Node::new(CallTree::ROOT, HOST));
                self.callees.push(Callees::NONE);
            }
        }
    }
}
