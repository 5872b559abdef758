//! Exact counts of calls, shared out among sampled paths.

use crate::tree::nodes::{Node, NodeId};
use kperf_abi::FuncId;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Of a function's paths that have no calls yet.
#[derive(Default)]
struct Rest {
    ticks: f64,
    paths: u64,
    calls: u64,
}

/// Shares out the calls of each function among its paths. Each path gets at least one call while there are any left.
/// `roots` has the root of each node's window, as calls are counted by window root too.
pub(super) fn share_out(nodes: &mut [Node], roots: &[NodeId], calls: &BTreeMap<(NodeId, FuncId), u64>) {
    let mut left: FxHashMap<(NodeId, FuncId), Rest> = FxHashMap::default();
    for (node, root) in nodes.iter().zip(roots).skip(1) {
        let key = (*root, node.func);
        let left = left
            .entry(key)
            .or_insert_with(|| Rest { calls: calls.get(&key).copied().unwrap_or(0), ..Rest::default() });
        left.ticks += node.total_ticks as f64;
        left.paths += 1;
    }
    for (node, root) in nodes.iter_mut().zip(roots).skip(1) {
        let Some(left) = left.get_mut(&(*root, node.func)) else { continue };
        let ticks = node.total_ticks as f64;
        // A part of the rest, so that rounding loses nothing, and the last path gets all of it.
        let calls = match left.paths {
            0 | 1 => left.calls,
            _ if left.ticks > 0.0 => ((left.calls as f64 * (ticks / left.ticks)).round() as u64).max(1),
            paths => left.calls / paths,
        };
        let calls = calls.min(left.calls);
        left.calls -= calls;
        node.calls = node.calls.saturating_add(calls);
        left.ticks -= ticks;
        left.paths = left.paths.saturating_sub(1);
    }
}
