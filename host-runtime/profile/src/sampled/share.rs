//! Exact counts of calls, shared out among sampled paths.

use crate::tree::links::link_number;
use crate::tree::nodes::{Node, NodeId};
use kperf_abi::FuncId;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Of a function's paths that have no calls yet.
#[derive(Default)]
struct Rest {
    ticks: f64,
    paths: u64,
    calls: u64,
}

/// Shares out the calls of each function among its paths. Each path gets at least one call while there are any left.
/// `roots` has the root of each node's window, as calls are counted by window root too. A path below the link of a slow
/// call is one call.
pub(super) fn share_out(nodes: &mut [Node], roots: &[NodeId], calls: &BTreeMap<(NodeId, FuncId), u64>) {
    let mut left: FxHashMap<(NodeId, FuncId), Rest> = FxHashMap::default();
    let mut seen: FxHashSet<FuncId> = FxHashSet::default();
    let slow: Vec<bool> =
        nodes.iter().zip(roots).map(|(node, root)| is_below_slow(node, nodes, *root)).collect();
    for ((node, root), is_slow) in nodes.iter().zip(roots).zip(&slow).skip(1) {
        let key = (*root, node.func);
        let left = left
            .entry(key)
            .or_insert_with(|| Rest { calls: calls.get(&key).copied().unwrap_or(0), ..Rest::default() });
        if !is_slow {
            left.ticks += node.total_ticks as f64;
            left.paths += 1;
        }
    }
    for n in 1..nodes.len() {
        let Some(left) = left.get_mut(&(roots[n], nodes[n].func)) else { continue };
        if slow[n] && left.calls > 0 && seen.insert(nodes[nodes[n].parent.index()].func) {
            nodes[n].calls = 1;
            left.calls -= 1;
        }
    }
    for ((node, root), _) in nodes.iter_mut().zip(roots).zip(&slow).skip(1).filter(|(_, is_slow)| !**is_slow)
    {
        let Some(left) = left.get_mut(&(*root, node.func)) else { continue };
        let ticks = node.total_ticks as f64;
        // A part of the rest, so that rounding loses nothing, and the last path gets all of it.
        node.calls = match left.paths {
            0 | 1 => left.calls,
            _ if left.ticks > 0.0 => ((left.calls as f64 * (ticks / left.ticks)).round() as u64).max(1),
            paths => left.calls / paths,
        };
        node.calls = node.calls.min(left.calls);
        left.calls -= node.calls;
        left.ticks -= ticks;
        left.paths = left.paths.saturating_sub(1);
    }
}

/// Whether a node is a slow call's: directly below a link that isn't its window's.
fn is_below_slow(node: &Node, nodes: &[Node], root: NodeId) -> bool {
    let parent = nodes.get(node.parent.index());
    node.parent != root && parent.is_some_and(|parent| link_number(parent.func).is_some())
}
