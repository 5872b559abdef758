//! Sums up the windows of a sampled profile.

use crate::frames::filter::{CallFilter, WindowChoice};
use crate::frames::open::LaneStatus;
use crate::limits::MAX_PATHS;
use crate::sampled::sampling::{SampledPlace, Sampling, WindowProfile};
use crate::sampled::share::share_out;
use crate::symbols::{HOST, OTHER, Symbols, UNSEEN, is_wait};
use crate::tree::links::link_number;
use crate::tree::nodes::{CallTree, Node, NodeId};
use kperf_abi::FuncId;
use kperf_trace::{Header, LaneId, Window};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Sums up windows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Windows {
    pub(crate) sampling: Sampling,
    /// Of all windows.
    pub(super) paths: Paths,
    /// By the root of the window: the tree's root, or the link of the span that all of the window's calls are below.
    calls: BTreeMap<(NodeId, FuncId), u64>,
    /// The latter nodes.
    below_spans: FxHashSet<NodeId>,
    /// Where in the code of the paths' functions samples found the program.
    pub(super) places: FxHashMap<(NodeId, u32), SampledPlace>,
    lanes: BTreeMap<u32, Lane>,
    /// Of each lane the last so far, where only that is wanted.
    last: BTreeMap<u32, Window>,
    /// Each for itself, where that is wanted, in their order in the trace.
    each: Vec<SingleWindow>,
    /// How many entries the windows in `last` and `each` have, or would have.
    entries: usize,
    /// How many windows are not among them for that.
    pub(crate) left_out: u64,
    /// Whether the program ran several times.
    repeated: bool,
    /// The windows of a run that hasn't ended.
    unfinished: Vec<Window>,
    /// Those of the last run that has.
    ended: Vec<Window>,
}

/// How many entries the windows may have that are kept each for itself: 100 bytes are an entry.
const MAX_ENTRIES: usize = 1 << 20;
/// How many places are kept: 50 bytes each. Samples over the limit have no place.
const MAX_PLACES: usize = 1 << 20;
/// What a window takes beside its nodes and counts, in entries.
const WINDOW_ENTRIES: usize = 8;

fn entries_of(window: &Window) -> usize {
    window.nodes.len() + window.calls.len() + window.places.len() + WINDOW_ENTRIES
}

/// A window for itself.
#[derive(Clone, Debug)]
struct SingleWindow {
    recorder: u32,
    number: u64,
    range: (u64, u64),
    windows: Windows,
}

/// Nodes of a tree, and how to find them. Parents come before their children, the root is first.
#[derive(Clone, Debug)]
pub(super) struct Paths {
    pub(super) nodes: Vec<Node>,
    by_path: FxHashMap<(NodeId, FuncId), NodeId>,
}

impl Default for Paths {
    fn default() -> Paths {
        Paths { nodes: vec![Node::new(CallTree::ROOT, HOST)], by_path: FxHashMap::default() }
    }
}

impl Paths {
    /// The path that goes on from another into a function.
    fn path(&mut self, parent: NodeId, func: FuncId) -> NodeId {
        let next = NodeId(self.nodes.len() as u32);
        let place = *self.by_path.entry((parent, func)).or_insert(next);
        if place == next {
            self.nodes.push(Node { min_ticks: 0, ..Node::new(parent, func) });
        }
        place
    }

    /// That path, if it is known or if there is room for one more.
    fn kept_path(&mut self, parent: NodeId, func: FuncId) -> Option<NodeId> {
        if self.nodes.len() < MAX_PATHS {
            return Some(self.path(parent, func));
        }
        self.by_path.get(&(parent, func)).copied()
    }

    /// Sums up the totals from the leaves to the root. The shortest and the longest call of a node are set to its mean.
    fn sum_up(&mut self) {
        self.nodes.iter_mut().for_each(|node| node.total_ticks = node.self_ticks);
        for index in (1..self.nodes.len()).rev() {
            let Node { parent, total_ticks, calls, .. } = self.nodes[index];
            let sum = &mut self.nodes[parent.index()].total_ticks;
            *sum = sum.saturating_add(total_ticks);
            let mean = total_ticks.checked_div(calls).unwrap_or(total_ticks);
            (self.nodes[index].min_ticks, self.nodes[index].max_ticks) = (mean, mean);
        }
    }
}

/// What windows know of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lane {
    windows: u64,
    calls: u64,
    start_ticks: u64,
    end_ticks: u64,
}

impl Windows {
    /// Sums up the windows of this trace.
    pub(crate) fn of(header: &Header) -> Windows {
        Windows { repeated: header.repeated, ..Windows::default() }
    }

    /// How many nodes there are so far.
    pub(crate) fn nodes(&self) -> usize {
        self.paths.nodes.len()
    }

    /// Adds one, if the filter wants it. `parent` is the link that the window goes below, if any.
    pub(crate) fn add(&mut self, window: &Window, filter: Option<&CallFilter<'_>>, parent: Option<FuncId>) {
        let calls = window.call_count();
        let (start_ticks, end_ticks) = (window.start_ticks, window.end_ticks);
        let lane = self.lanes.entry(window.recorder).or_insert(Lane {
            windows: 0,
            calls: 0,
            start_ticks,
            end_ticks,
        });
        lane.windows += 1;
        let number = lane.windows;
        lane.calls = lane.calls.saturating_add(calls);
        lane.start_ticks = lane.start_ticks.min(start_ticks);
        lane.end_ticks = lane.end_ticks.max(end_ticks);
        if filter.is_some_and(|filter| !filter.wants_lane(LaneId { recorder: window.recorder, stack: 0 })) {
            return;
        }
        self.sampling.max_windows = self.sampling.max_windows.max(number);
        match filter.map(|filter| filter.windows).unwrap_or_default() {
            WindowChoice::Sum | WindowChoice::Each if self.repeated => self.add_to_run(window),
            WindowChoice::Sum => self.sum(window, parent),
            WindowChoice::Nth(wanted) if wanted == number => self.sum(window, parent),
            WindowChoice::Nth(_) => {}
            WindowChoice::Last => self.keep_last(window),
            WindowChoice::Each => {
                self.sum(window, None);
                self.entries += entries_of(window);
                if self.entries > MAX_ENTRIES {
                    self.left_out += 1;
                    return;
                }
                let mut windows = Windows::default();
                windows.sum(window, None);
                let range = (start_ticks, end_ticks);
                self.each.push(SingleWindow { recorder: window.recorder, number, range, windows });
            }
        }
    }

    /// Adds a window to its run. A run that doesn't end is in no figure.
    fn add_to_run(&mut self, window: &Window) {
        self.entries += entries_of(window);
        if self.entries > MAX_ENTRIES {
            self.left_out += 1;
            return;
        }
        // The program went on, so the run before is whole.
        self.sum_run();
        self.unfinished.push(window.clone());
        if !window.calls.is_empty() {
            self.ended = std::mem::take(&mut self.unfinished);
        }
    }

    fn sum_run(&mut self) {
        let (number, mut windows) = (self.each.len() as u64 + 1, Windows::default());
        let mut range = (u64::MAX, 0);
        let run = std::mem::take(&mut self.ended);
        for window in &run {
            self.sum(window, None);
            windows.sum(window, None);
            range = (range.0.min(window.start_ticks), range.1.max(window.end_ticks));
        }
        if let Some(Window { recorder, .. }) = run.last() {
            self.each.push(SingleWindow { recorder: *recorder, number, range, windows });
        }
    }

    /// No more windows come. `failed`: the trace says that the program didn't come to its end. Then its last run is in no figure, unless
    /// it is the only one.
    pub(crate) fn settle(&mut self, failed: bool) {
        for window in std::mem::take(&mut self.last).into_values() {
            self.sum(&window, None);
        }
        if !failed || self.each.is_empty() {
            self.sum_run();
        }
        // The first run failed.
        if self.each.is_empty() {
            for window in std::mem::take(&mut self.unfinished) {
                self.sum(&window, None);
            }
        }
    }

    /// Keeps a window in the place of the one before it of the same lane, if there is room.
    fn keep_last(&mut self, window: &Window) {
        let before = self.last.remove(&window.recorder);
        self.entries -= before.as_ref().map_or(0, entries_of);
        let entries = entries_of(window);
        if self.entries + entries > MAX_ENTRIES {
            self.left_out += 1;
            return;
        }
        self.entries += entries;
        self.last.insert(window.recorder, window.clone());
    }

    fn sum(&mut self, window: &Window, parent: Option<FuncId>) {
        let root = parent.and_then(|link| self.paths.kept_path(CallTree::ROOT, link));
        self.below_spans.extend(root);
        let root = root.unwrap_or(CallTree::ROOT);
        let sampling = &mut self.sampling;
        sampling.windows += 1;
        let (start, end) = sampling.range.unwrap_or((u64::MAX, 0));
        sampling.range = Some((start.min(window.start_ticks), end.max(window.end_ticks)));
        sampling.period_nanos = sampling.period_nanos.max(window.period_nanos);
        sampling.span_min_nanos = sampling.span_min_nanos.max(window.span_min_nanos);
        for (sum, part) in [
            (&mut sampling.samples, window.samples),
            (&mut sampling.torn, window.torn),
            (&mut sampling.cut, window.cut),
            (&mut sampling.idle_ticks, window.idle_ticks),
        ] {
            *sum = sum.saturating_add(part);
        }
        sampling.squares += window.squares;
        for &(func, calls) in &window.calls {
            let has_room = self.calls.len() < MAX_PATHS || self.calls.contains_key(&(root, func));
            let key = if has_room { (root, func) } else { (CallTree::ROOT, OTHER) };
            let sum = self.calls.entry(key).or_default();
            *sum = sum.saturating_add(calls);
        }
        let mut places: Vec<NodeId> = Vec::with_capacity(window.nodes.len());
        for (index, node) in window.nodes.iter().enumerate() {
            let calls = window.node_calls.get(index).copied().unwrap_or(0);
            let parent = node.parent.and_then(|parent| places.get(parent as usize)).copied();
            let parent = parent.unwrap_or(root);
            // Nobody's time: it is in the window's idle time.
            if is_wait(node.func) && parent == root {
                places.push(root);
                continue;
            }
            // A path over the limit counts for its outer part, as a path that the sampler cut does.
            let place = self.paths.kept_path(parent, node.func).unwrap_or_else(|| {
                self.sampling.cut = self.sampling.cut.saturating_add(node.samples);
                parent
            });
            if place == parent && calls > 0 {
                let sum = self.calls.entry((CallTree::ROOT, OTHER)).or_default();
                *sum = sum.saturating_add(calls);
            }
            places.push(place);
            if !is_wait(node.func) {
                self.sampling.busy_ticks = self.sampling.busy_ticks.saturating_add(node.self_ticks);
            }
            if let Some(sum) = self.paths.nodes.get_mut(place.index()) {
                sum.self_ticks = sum.self_ticks.saturating_add(node.self_ticks);
                if place != parent {
                    sum.calls = sum.calls.saturating_add(calls);
                }
            }
        }
        for place in &window.places {
            let node = places.get(place.node as usize).copied();
            let func = window.nodes.get(place.node as usize).map(|node| node.func);
            // Not if it is counted for another path.
            let Some(node) =
                node.filter(|node| self.paths.nodes.get(node.index()).map(|node| node.func) == func)
            else {
                continue;
            };
            if self.places.len() < MAX_PLACES || self.places.contains_key(&(node, place.offset)) {
                let more = SampledPlace { samples: place.samples, ticks: place.ticks };
                self.places.entry((node, place.offset)).or_default().add(more);
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lanes.is_empty()
    }

    /// Completes the lanes from the windows. Lanes without a slow call are missing before, and other lanes have only the
    /// figures of slow calls.
    pub(crate) fn complete(&self, lanes: &mut Vec<LaneStatus>) {
        for (&recorder, &Lane { calls, start_ticks, end_ticks, .. }) in &self.lanes {
            let id = LaneId { recorder, stack: 0 };
            match lanes.iter_mut().find(|lane| lane.id == id) {
                Some(lane) => {
                    lane.calls = calls;
                    lane.start_ticks = lane.start_ticks.min(start_ticks);
                    lane.end_ticks = lane.end_ticks.max(end_ticks);
                }
                None => lanes.push(LaneStatus { id, calls, start_ticks, end_ticks, depth: 0 }),
            }
        }
    }

    /// All calls.
    pub(crate) fn calls(&self) -> u64 {
        self.lanes.values().fold(0, |sum, lane| sum.saturating_add(lane.calls))
    }

    /// The windows that are wanted each for itself, of those calls that the filter lets through.
    pub(crate) fn take_each(
        &mut self,
        filter: Option<&CallFilter<'_>>,
        symbols: &Symbols,
    ) -> Vec<WindowProfile> {
        let each = std::mem::take(&mut self.each);
        each.into_iter()
            .map(|SingleWindow { recorder, number, range: (start_ticks, end_ticks), windows }| {
                WindowProfile {
                    lane: LaneId { recorder, stack: 0 },
                    number,
                    start_ticks,
                    end_ticks,
                    sampling: windows.sampling.clone(),
                    tree: CallTree::new(windows.into_nodes(filter, symbols)),
                }
            })
            .collect()
    }

    /// The nodes of the tree of those calls that the filter lets through.
    ///
    /// Calls of paths are exact. The calls of a function whose paths aren't counted are shared out among its paths by the time that each took: their sum is exact, the parts are
    /// estimates. Functions that no sample found are below [`UNSEEN`].
    pub(crate) fn into_nodes(self, filter: Option<&CallFilter<'_>>, symbols: &Symbols) -> Vec<Node> {
        let Windows { mut paths, calls, below_spans, .. } = self;
        let mut roots: Vec<NodeId> = Vec::with_capacity(paths.nodes.len());
        let root_of = |roots: &[NodeId], id: NodeId, parent: NodeId| {
            if below_spans.contains(&id) {
                return id;
            }
            roots.get(parent.index()).copied().unwrap_or(CallTree::ROOT)
        };
        for (index, node) in (0u32..).zip(&paths.nodes) {
            roots.push(root_of(&roots, NodeId(index), node.parent));
        }
        let seen: FxHashSet<(NodeId, FuncId)> =
            roots.iter().copied().zip(paths.nodes.iter().map(|node| node.func)).collect();
        for &(root, func) in calls.keys().filter(|key| !seen.contains(key)) {
            let parent = paths.path(root, UNSEEN);
            paths.path(parent, func);
        }
        roots.resize(paths.nodes.len(), CallTree::ROOT);
        for (index, node) in (0u32..).zip(&paths.nodes).skip(1) {
            roots[index as usize] = root_of(&roots, NodeId(index), node.parent);
        }
        paths.sum_up();
        share_out(&mut paths.nodes, &roots, &calls);
        if let Some(filter) = filter {
            (paths, _) = filtered(&paths.nodes, filter, symbols);
        }
        paths.sum_up();
        paths.nodes
    }
}

/// Whether a node is the root, or a chain of links below it.
fn is_outside(nodes: &[Node], mut id: NodeId) -> bool {
    while let Some(node) = nodes.get(id.index()).filter(|node| link_number(node.func).is_some()) {
        id = node.parent;
    }
    id == CallTree::ROOT
}

/// The nodes that a filter keeps: the time of the others becomes self time of the calls around them, as if they had had no
/// probes. And the new id of each kept node, by its old index.
pub(super) fn filtered(
    nodes: &[Node],
    filter: &CallFilter<'_>,
    symbols: &Symbols,
) -> (Paths, Vec<Option<NodeId>>) {
    let mut left = Paths::default();
    // The new node of each old one, and its level.
    let mut places: Vec<(NodeId, u32)> = vec![(CallTree::ROOT, 0)];
    let mut kept = vec![Some(CallTree::ROOT)];
    for node in nodes.iter().skip(1) {
        let (parent, level) = places.get(node.parent.index()).copied().unwrap_or_default();
        let keep = match node.func {
            // It is no call.
            func if link_number(func).is_some() => true,
            // Nobody's time, within calls that are kept.
            func if is_wait(func) => !is_outside(&left.nodes, parent),
            // How deep their calls were isn't known.
            UNSEEN => filter.depth.is_none(),
            func => filter.depth.is_none_or(|depth| level < depth) && (filter.keep)(symbols, func),
        };
        let under_unseen = nodes.get(node.parent.index()).is_some_and(|parent| parent.func == UNSEEN);
        let keep = keep && !(under_unseen && filter.depth.is_some());
        let inner = level + u32::from(link_number(node.func).is_none());
        let place = if keep { (left.path(parent, node.func), inner) } else { (parent, level) };
        places.push(place);
        kept.push(keep.then_some(place.0));
        if is_outside(&left.nodes, place.0) {
            continue;
        }
        if let Some(sum) = left.nodes.get_mut(place.0.index()) {
            sum.self_ticks = sum.self_ticks.saturating_add(node.self_ticks);
            let calls = if keep { &mut sum.calls } else { &mut sum.hidden_calls };
            *calls = calls.saturating_add(node.calls);
        }
    }
    (left, kept)
}
