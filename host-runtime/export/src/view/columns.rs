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
//! how many slices after the entry before it on its node; ticks; calls that began
//! ```

use super::page_data::PageData;
use kperf_abi::leb128;
use kperf_profile::{CallTree, Level, Node, Sliced, Span};

/// A level of the timeline. Functions are numbered as the sheet does.
pub(super) fn level_bytes(level: &Level, start_ticks: u64, page_data: &PageData<'_>) -> Vec<u8> {
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
    all().for_each(|span: &Span| number(page_data.index_of(span.func)));
    all().for_each(|span| number(span.calls.into()));
    out
}

/// The slices, for all nodes of the tree.
pub(super) fn slices_bytes(sliced: &Sliced, start_ticks: u64, tree: &CallTree) -> Vec<u8> {
    let mut out = Vec::new();
    let mut number = |value: u64| leb128::write(&mut out, value);
    number(sliced.ranges.len() as u64);
    let mut end = start_ticks;
    for &(start, next) in &sliced.ranges {
        number(start.abs_diff(end).saturating_mul(2) | u64::from(start < end));
        end = next;
    }
    sliced.ranges.iter().for_each(|(start, end)| number(end.saturating_sub(*start)));
    let of_node = |n: usize| sliced.nodes.get(n).map_or(&[][..], Vec::as_slice);
    let nodes = 0..tree.nodes().len();
    nodes.clone().for_each(|n| number(of_node(n).len() as u64));
    for entries in nodes.clone().map(of_node) {
        let mut before = 0;
        for entry in entries {
            number(entry.slice - before);
            before = entry.slice;
        }
    }
    let all = || nodes.clone().flat_map(of_node);
    all().for_each(|entry| number(entry.ticks));
    all().for_each(|entry| number(entry.calls));
    out
}

/// The call tree, which has at most [`MAX_PATHS`](kperf_profile::MAX_PATHS) paths and as many nodes of [`OTHER`](kperf_profile::OTHER).
pub(super) fn tree_bytes(tree: &CallTree, page_data: &PageData<'_>) -> Vec<u8> {
    let nodes = tree.nodes();
    let mut out = Vec::with_capacity(nodes.len() * 10);
    let mut number = |value: u64| leb128::write(&mut out, value);
    number(nodes.len() as u64);
    for (n, node) in nodes.iter().enumerate() {
        number(n as u64 - u64::from(node.parent.0));
    }
    let columns: [&dyn Fn(&Node) -> u64; 4] =
        [&|node| page_data.index_of(node.func), &|node| node.calls, &|node| node.total_ticks, &|node| {
            node.self_ticks
        }];
    for column in columns {
        nodes.iter().for_each(|node| number(column(node)));
    }
    out
}
