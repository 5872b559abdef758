//! Paths of calls, for formats that write each path as a whole.
//!
//! If all nodes of a tree are one path, the bytes grow with the square of their number. So the file has a limit.

use crate::tree::nodes::{CallTree, NodeId};
use kperf_abi::FuncId;

/// How many paths were cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shortened {
    /// How many paths are deeper than the limit. They count for their outer part.
    pub paths: u64,
    /// The maximum depth of written paths.
    pub depth: usize,
}

impl Shortened {
    /// A sentence without its full stop; `None` if no path was cut.
    pub fn warning(&self) -> Option<String> {
        let Shortened { paths, depth } = self;
        (*paths > 0)
            .then(|| format!("{paths} paths are deeper than the {depth} calls that are written: they count for their outer part"))
    }
}

/// The written paths, and their weights.
pub struct Paths {
    /// The paths that were cut.
    pub shortened: Shortened,
    /// The depth of each node (1 for outermost calls), and its weights. Both are empty if all paths are written.
    depths: Vec<u32>,
    weights: Vec<PathWeights>,
}

/// The weights of a path without its callees.
#[derive(Clone, Copy, Debug, Default)]
pub struct PathWeights {
    /// How often the path was called.
    pub calls: u64,
    /// The time in its innermost function itself, in ticks.
    pub self_ticks: u64,
}

impl Paths {
    /// How many bytes the paths of a file have at most.
    pub const MAX_FILE: u64 = 1 << 30;
    /// How many bytes of paths are kept in memory at most.
    pub const MAX_KEPT: u64 = 96 << 20;

    /// Chooses how deep paths are, so that all together have at most `max` bytes; `length_of` returns the bytes of a
    /// function.
    pub fn new(tree: &CallTree, mut length_of: impl FnMut(FuncId) -> usize, max: u64) -> Paths {
        let nodes = tree.nodes();
        let (mut depths, mut bytes) = (vec![0u32; nodes.len()], vec![0u64; nodes.len()]);
        let mut by_depth: Vec<u64> = Vec::new();
        for (id, node) in tree.iter() {
            let (index, parent) = (id.index(), node.parent.index());
            depths[index] = depths[parent] + 1;
            bytes[index] = bytes[parent].saturating_add(length_of(node.func) as u64 + 1);
            by_depth.resize(by_depth.len().max(depths[index] as usize), 0);
            let sum = &mut by_depth[depths[index] as usize - 1];
            *sum = sum.saturating_add(bytes[index]);
        }
        let mut sum = 0u64;
        let fits = |bytes: &&u64| {
            sum = sum.saturating_add(**bytes);
            sum <= max
        };
        let depth = by_depth.iter().take_while(fits).count();
        let paths = depths.iter().filter(|&&of_node| of_node as usize > depth).count() as u64;
        if paths == 0 {
            return Paths { shortened: Shortened { paths, depth }, depths: Vec::new(), weights: Vec::new() };
        }
        let mut weights: Vec<PathWeights> =
            nodes.iter().map(|node| PathWeights { calls: node.calls, self_ticks: node.self_ticks }).collect();
        for (id, node) in tree.iter().rev().filter(|(id, _)| depths[id.index()] as usize > depth) {
            let PathWeights { calls, self_ticks } = weights[id.index()];
            let sum = &mut weights[node.parent.index()];
            sum.calls = sum.calls.saturating_add(calls);
            sum.self_ticks = sum.self_ticks.saturating_add(self_ticks);
        }
        Paths { shortened: Shortened { paths, depth }, depths, weights }
    }

    /// The weights of a node's path; `None` if it is not written.
    pub fn weights(&self, tree: &CallTree, id: NodeId) -> Option<PathWeights> {
        let node = tree.get(id)?;
        match (self.depths.get(id.index()), self.weights.get(id.index())) {
            (Some(&depth), Some(&weights)) => (depth as usize <= self.shortened.depth).then_some(weights),
            _ => Some(PathWeights { calls: node.calls, self_ticks: node.self_ticks }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::HOST;
    use crate::tree::nodes::Node;

    /// Calls of one function inside each other, each once and for one tick.
    fn chain(length: u32) -> CallTree {
        let node = |n: u32| Node {
            calls: 1,
            self_ticks: 1,
            total_ticks: (length - n).into(),
            ..Node::new(NodeId(n), FuncId(7))
        };
        let root = Node::new(CallTree::ROOT, HOST);
        CallTree::new(std::iter::once(root).chain((0..length).map(node)).collect())
    }

    #[test]
    fn deep_paths_are_cut_and_nothing_is_lost() {
        let tree = chain(100);
        // Paths of 10, 20, 30, .. bytes: the first nine have 450.
        for (max, depth) in [(u64::MAX, 100), (499, 9), (450, 9), (449, 8), (10, 1), (9, 0)] {
            let paths = Paths::new(&tree, |_| 9, max);
            assert_eq!((paths.shortened.depth, paths.shortened.paths), (depth, 100 - depth as u64), "{max}");
            let written = tree.iter().filter_map(|(id, _)| paths.weights(&tree, id));
            let (mut calls, mut ticks, mut count) = (0, 0, 0);
            written.for_each(|weights| {
                (calls, ticks, count) = (calls + weights.calls, ticks + weights.self_ticks, count + 1);
            });
            assert_eq!(count, depth);
            assert!(depth == 0 || (calls, ticks) == (100, 100), "{max}: {calls}, {ticks}");
        }
    }
}
