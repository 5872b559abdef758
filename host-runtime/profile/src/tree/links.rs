//! Spans of OpenTelemetry as nodes of the call tree.
//!
//! A tree that is split by spans has a node for each span, a link: calls below a link happened in its span. Ids of
//! functions have 30 bits, so larger ones are free for links.

use crate::limits::MAX_PATHS;
use crate::symbols::is_stand_in;
use crate::tree::observer::{Call, CallObserver};
use kperf_abi::FuncId;
pub use kperf_trace::SpanLink;
use kperf_trace::{CallParent, LaneId};
use rustc_hash::FxHashMap;

/// The first link's id.
const FIRST: u32 = 1 << 31;
/// The link of a tree that has one.
pub(crate) const FIRST_LINK: FuncId = FuncId(FIRST);

/// The number of a link among [`Profile::links`](crate::Profile::links); `None` for functions.
pub fn link_number(func: FuncId) -> Option<usize> {
    (func.0 >= FIRST && !is_stand_in(func)).then(|| (func.0 - FIRST) as usize)
}

/// The links of a tree: an observer that decides below which link calls go.
#[derive(Debug, Default)]
pub(crate) struct Links {
    /// Links, in the order of their numbers.
    pub(crate) spans: Vec<SpanLink>,
    by_span: FxHashMap<SpanLink, FuncId>,
    recorders: FxHashMap<u32, Parents>,
    /// The link of the host's open call on a lane, where a filter passes calls on later.
    open: Option<FxHashMap<LaneId, Option<FuncId>>>,
    /// Calls of the host over the limit of links.
    pub(crate) over_limit: u64,
}

/// The parents of a recorder's next calls.
#[derive(Debug, Default)]
struct Parents {
    of_all: Option<SpanLink>,
    of_stacks: FxHashMap<u32, Option<SpanLink>>,
}

/// Links get at most half of the paths, so that calls without a link have paths too.
const MAX_LINKED_PATHS: usize = MAX_PATHS / 2;
/// How many recorders, and stacks of one, have parents. A trace has fewer.
const MAX_PARENTS: usize = 1 << 17;

impl Links {
    /// `filtered`: whether a filter passes calls on late.
    pub(crate) fn new(filtered: bool) -> Links {
        Links { open: filtered.then(FxHashMap::default), ..Links::default() }
    }

    fn link(&mut self, span: SpanLink, nodes: usize) -> Option<FuncId> {
        if let Some(&known) = self.by_span.get(&span) {
            return Some(known);
        }
        if nodes >= MAX_LINKED_PATHS || self.spans.len() >= MAX_LINKED_PATHS {
            return None;
        }
        let link = FuncId(FIRST + self.spans.len() as u32);
        self.spans.push(span);
        self.by_span.insert(span, link);
        Some(link)
    }

    /// The link of a call that the host makes now.
    fn next(&mut self, lane: LaneId, nodes: usize) -> Option<FuncId> {
        let parents = self.recorders.get(&lane.recorder)?;
        let span = parents.of_stacks.get(&lane.stack).copied().unwrap_or(parents.of_all)?;
        let link = self.link(span, nodes);
        self.over_limit += u64::from(link.is_none());
        link
    }
}

impl CallObserver for Links {
    fn call(&mut self, _call: &Call) {}

    fn parent(&mut self, parent: &CallParent) {
        let span = parent.context.as_ref().map(SpanLink::from);
        if self.recorders.len() >= MAX_PARENTS && !self.recorders.contains_key(&parent.recorder) {
            return;
        }
        let parents = self.recorders.entry(parent.recorder).or_default();
        match parent.stack {
            None => *parents = Parents { of_all: span, of_stacks: FxHashMap::default() },
            Some(stack) if parents.of_stacks.len() < MAX_PARENTS => _ = parents.of_stacks.insert(stack, span),
            Some(_) => {}
        }
    }

    fn begins(&mut self, lane: LaneId, nodes: usize) {
        let link = self.next(lane, nodes);
        if let Some(open) = &mut self.open {
            open.insert(lane, link);
        }
    }

    fn tree_of(&mut self, lane: LaneId, nodes: usize) -> Option<FuncId> {
        match &self.open {
            Some(open) => open.get(&lane).copied().flatten(),
            None => self.next(lane, nodes),
        }
    }

    fn window_of(&mut self, span: SpanLink, calls: u64, nodes: usize) -> Option<FuncId> {
        let link = self.link(span, nodes);
        if link.is_none() {
            self.over_limit = self.over_limit.saturating_add(calls);
        }
        link
    }
}
