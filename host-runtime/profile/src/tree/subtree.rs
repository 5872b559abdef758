//! Parts of a call tree: the callees of functions, and the paths through functions.

use crate::symbols::{UNSEEN, is_pause};
use crate::tree::nodes::{CallTree, Node, NodeId};
use kperf_abi::FuncId;
use rustc_hash::FxHashMap;

impl CallTree {
    /// The tree of the chosen functions: their outermost calls become calls of the host, whichever function made them.
    pub fn rooted_at(&self, chosen: impl Fn(FuncId) -> bool) -> CallTree {
        let mut copy = Copy::new(self);
        for (id, node) in self.iter() {
            let parent = match copy.copied(node.parent) {
                Some(parent) => parent,
                None if chosen(node.func) => CallTree::ROOT,
                None => continue,
            };
            copy.add(id, parent, node);
        }
        copy.finish()
    }

    /// The calls that a filter of functions and depth keeps. The other calls are treated as if they had no probes: their time
    /// becomes self time of the calls around them.
    pub(crate) fn filtered(&self, keep: impl Fn(FuncId) -> bool, depth: Option<u32>) -> CallTree {
        let mut copy = Copy::new(self);
        let mut levels = vec![0u32; self.nodes().len()];
        for (id, node) in self.iter() {
            let parent = copy.copied(node.parent).unwrap_or(CallTree::ROOT);
            let mut level = levels[node.parent.index()];
            // The depth of calls that no sample saw is unknown.
            if node.func == UNSEEN && depth.is_some() {
                level = u32::MAX - 1;
            }
            // Pauses stay apart from the function around them, as in a filtered trace.
            let is_wanted = match node.func {
                func if is_pause(func) => parent != CallTree::ROOT,
                // The times below it are not known.
                UNSEEN => depth.is_none(),
                func => depth.is_none_or(|depth| level < depth) && keep(func),
            };
            if is_wanted {
                copy.add(id, parent, node);
                levels[id.index()] = level + 1;
                continue;
            }
            copy.places[id.index()] = Some(parent);
            levels[id.index()] = level;
            if parent != CallTree::ROOT {
                let around = &mut copy.nodes[parent.index()];
                around.self_ticks = around.self_ticks.saturating_add(node.self_ticks);
                around.hidden_calls = around.hidden_calls.saturating_add(node.calls);
            }
        }
        copy.finish()
    }

    /// This tree and the nodes of another one, which are in the order that [`CallTree`] promises.
    pub(crate) fn with(self, nodes: Vec<Node>) -> CallTree {
        if nodes.len() <= 1 {
            return self;
        }
        let mut copy = Copy::new(&self);
        for tree in [&self, &CallTree::new(nodes)] {
            copy.places = vec![None; tree.nodes().len()];
            for (id, node) in tree.iter() {
                let parent = if node.parent == CallTree::ROOT {
                    Some(CallTree::ROOT)
                } else {
                    copy.copied(node.parent)
                };
                copy.add(id, parent.unwrap_or(CallTree::ROOT), node);
            }
        }
        copy.finish()
    }

    /// The tree of the paths through the chosen functions. Their direct and indirect callers keep their numbers of calls, and
    /// of their times only the part in the chosen functions.
    pub fn through(&self, chosen: impl Fn(FuncId) -> bool) -> CallTree {
        // For each node, how long the chosen ones below it took; parents come before their children.
        let mut inside = vec![false; self.nodes().len()];
        let mut ticks = vec![None::<u64>; self.nodes().len()];
        for (id, node) in self.iter() {
            inside[id.index()] = inside[node.parent.index()] || chosen(node.func);
        }
        for (id, node) in self.iter().rev() {
            if inside[id.index()] && !inside[node.parent.index()] {
                ticks[id.index()] = Some(node.total_ticks);
            }
            if let Some(below) = ticks[id.index()].filter(|_| node.parent != CallTree::ROOT) {
                let sum = &mut ticks[node.parent.index()];
                *sum = Some(sum.unwrap_or(0).saturating_add(below));
            }
        }
        let mut copy = Copy::new(self);
        for (id, node) in self.iter() {
            let parent = match node.parent {
                CallTree::ROOT => Some(CallTree::ROOT),
                parent => copy.copied(parent),
            };
            let Some(parent) = parent else { continue };
            if inside[id.index()] {
                copy.add(id, parent, node);
            } else if let Some(total_ticks) = ticks[id.index()] {
                copy.add(id, parent, &Node { total_ticks, self_ticks: 0, ..*node });
            }
        }
        copy.finish()
    }
}

/// A growing copy of a tree. Nodes of one function below the same parent become one node.
struct Copy {
    nodes: Vec<Node>,
    /// The copy's node for each node of the original.
    places: Vec<Option<NodeId>>,
    by_path: FxHashMap<(NodeId, FuncId), NodeId>,
}

impl Copy {
    fn new(tree: &CallTree) -> Copy {
        let nodes = tree.nodes().first().map(|&root| Node { calls: 0, ..root }).into_iter().collect();
        Copy { nodes, places: vec![None; tree.nodes().len()], by_path: FxHashMap::default() }
    }

    fn copied(&self, id: NodeId) -> Option<NodeId> {
        self.places.get(id.index()).copied().flatten()
    }

    /// Adds a node below `parent`. Parents are added before their children.
    fn add(&mut self, id: NodeId, parent: NodeId, node: &Node) {
        let next = NodeId(self.nodes.len() as u32);
        let place = *self.by_path.entry((parent, node.func)).or_insert(next);
        self.places[id.index()] = Some(place);
        if place == next {
            self.nodes.push(Node { parent, ..*node });
            return;
        }
        let sum = &mut self.nodes[place.index()];
        sum.calls = sum.calls.saturating_add(node.calls);
        sum.total_ticks = sum.total_ticks.saturating_add(node.total_ticks);
        sum.self_ticks = sum.self_ticks.saturating_add(node.self_ticks);
        sum.min_ticks = sum.min_ticks.min(node.min_ticks);
        sum.max_ticks = sum.max_ticks.max(node.max_ticks);
        sum.unwound = sum.unwound.saturating_add(node.unwound);
        sum.unfinished = sum.unfinished.saturating_add(node.unfinished);
        sum.hidden_calls = sum.hidden_calls.saturating_add(node.hidden_calls);
    }

    fn finish(self) -> CallTree {
        CallTree::new(self.nodes)
    }
}
