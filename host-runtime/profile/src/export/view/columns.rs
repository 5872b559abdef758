//! The page's large numbers, as columns of LEB128.
//!
//! ```text
//! level    lanes; per lane: tracks; per track: spans. Then, for all spans in that order,
//!          ticks since the end of the span before it on its track, or since the trace's beginning
//!          length in ticks; function; calls
//! flame    nodes. Then, for all of them, parents first,
//!          how many nodes back the parent is; function; calls; total ticks; self ticks
//! slices   slices. Then, for all of them,
//!          ticks since the end of the slice before it, or since the trace's beginning, with its sign in the lowest bit
//!          length in ticks
//!          Then, for each node of the flame graph, entries; and then, for the entries of all nodes in that order,
//!          how many slices behind the entry before it on its node; ticks; calls that began
//! ```

use super::sheet::Sheet;
use crate::nodes::{CallTree, Node, NodeId};
use crate::slices::Sliced;
use crate::timeline::{Level, Span};
use kperf_abi::leb128;

/// A level of the timeline. Functions are numbered as the sheet does.
pub(super) fn level_bytes(level: &Level, start_ticks: u64, sheet: &Sheet<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(level.spans() * 8);
    let mut number = |value: u64| leb128::write(&mut out, value);
    number(level.lanes.len() as u64);
    for lane in &level.lanes {
        number(lane.tracks.len() as u64);
        lane.tracks.iter().for_each(|track| number(track.len() as u64));
    }
    for track in level.lanes.iter().flat_map(|lane| &lane.tracks) {
        let mut end = start_ticks;
        for span in track {
            number(span.start_ticks.saturating_sub(end));
            end = span.end_ticks.max(end);
        }
    }
    let all = || level.lanes.iter().flat_map(|lane| &lane.tracks).flatten();
    all().for_each(|span| number(span.end_ticks.saturating_sub(span.start_ticks)));
    all().for_each(|span: &Span| number(sheet.index_of(span.func)));
    all().for_each(|span| number(span.calls.into()));
    out
}

/// The slices, for the nodes that the flame graph has.
pub(super) fn slices_bytes(sliced: &Sliced, start_ticks: u64, flame: &FlameTree) -> Vec<u8> {
    let mut out = Vec::new();
    let mut number = |value: u64| leb128::write(&mut out, value);
    number(sliced.ranges.len() as u64);
    let mut end = start_ticks;
    for &(start, next) in &sliced.ranges {
        number(start.abs_diff(end).saturating_mul(2) | u64::from(start < end));
        end = next;
    }
    sliced.ranges.iter().for_each(|(start, end)| number(end.saturating_sub(*start)));
    let of_node = |id: &NodeId| sliced.nodes.get(id.index()).map_or(&[][..], Vec::as_slice);
    flame.ids.iter().for_each(|id| number(of_node(id).len() as u64));
    for entries in flame.ids.iter().map(of_node) {
        let mut before = 0;
        for entry in entries {
            number(entry.slice - before);
            before = entry.slice;
        }
    }
    let all = || flame.ids.iter().flat_map(of_node);
    all().for_each(|entry| number(entry.ticks));
    all().for_each(|entry| number(entry.calls));
    out
}

/// The part of the call tree that a flame graph can show. Parents come before children.
#[derive(Debug)]
pub(super) struct FlameTree {
    nodes: Vec<(u32, Node)>,
    /// Which nodes of the tree these are.
    ids: Vec<NodeId>,
    /// How many nodes were left out.
    pub(super) left_out: usize,
}

impl FlameTree {
    /// The `most` nodes with the longest totals, the root first. A node's parent is at least as long, so it is there too.
    pub(super) fn new(tree: &CallTree, most: usize) -> FlameTree {
        let mut totals: Vec<u64> = tree.nodes().iter().map(|node| node.total_ticks).collect();
        let least = if totals.len() <= most {
            0
        } else {
            // Where many are equally long none of these is kept: half of them would say something wrong.
            *totals.select_nth_unstable_by(most, |a, b| b.cmp(a)).1 + 1
        };
        // Where each node of the tree went; a node that was left out takes the place of none.
        let mut places = vec![0u32; tree.nodes().len()];
        let mut nodes: Vec<(u32, Node)> = Vec::with_capacity(most.min(tree.nodes().len()));
        let mut ids = Vec::with_capacity(nodes.capacity());
        for (n, node) in tree.nodes().iter().enumerate() {
            if n == 0 || node.total_ticks >= least {
                places[n] = nodes.len() as u32;
                ids.push(NodeId(n as u32));
                nodes.push((places[node.parent.index()], *node));
            }
        }
        FlameTree { left_out: tree.nodes().len() - nodes.len(), nodes, ids }
    }

    /// The section's bytes.
    pub(super) fn to_bytes(&self, sheet: &Sheet<'_>) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.nodes.len() * 10);
        let mut number = |value: u64| leb128::write(&mut out, value);
        number(self.nodes.len() as u64);
        for (n, &(parent, _)) in self.nodes.iter().enumerate() {
            number(n as u64 - u64::from(parent));
        }
        let columns: [&dyn Fn(&Node) -> u64; 4] =
            [&|node| sheet.index_of(node.func), &|node| node.calls, &|node| node.total_ticks, &|node| {
                node.self_ticks
            }];
        for column in columns {
            self.nodes.iter().for_each(|(_, node)| number(column(node)));
        }
        out
    }
}
