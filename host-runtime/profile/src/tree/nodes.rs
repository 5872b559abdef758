//! The call tree.

use crate::symbols::HOST;
use crate::tree::unplaced::Unplaced;
use kperf_abi::FuncId;

/// Index of a node in its tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The node in a slice of nodes; it is there, in the tree that the id is from.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// All calls of one function on one path of callers. It fills a cache line, which every leave waits for in a large tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
pub struct Node {
    /// The node of the caller. The root is its own parent.
    pub parent: NodeId,
    /// The function that was called: [`HOST`] for the root, [`LOST`](crate::LOST) for calls whose enter was lost.
    pub func: FuncId,
    /// How many calls these are.
    pub calls: u64,
    /// How long all these calls took, in ticks.
    pub total_ticks: u64,
    /// Their self time: without the calls that they made, in ticks.
    pub self_ticks: u64,
    /// How long the shortest call took.
    pub min_ticks: u64,
    /// How long the longest call took.
    pub max_ticks: u64,
    /// How many of the calls ended by an exception that was caught further out.
    pub unwound: u32,
    /// How many were cut short: by a trap, an exit, a gap or the end of the trace.
    pub unfinished: u32,
    /// How many calls inside these a filter left out. Their time is in `self_ticks`.
    pub hidden_calls: u64,
}

const _: () = assert!(size_of::<Node>() == 64);

impl Node {
    /// A node without calls.
    pub fn new(parent: NodeId, func: FuncId) -> Node {
        let (calls, total_ticks, self_ticks, min_ticks, max_ticks) = (0, 0, 0, u64::MAX, 0);
        let (unwound, unfinished, hidden_calls) = (0, 0, 0);
        Node {
            parent,
            func,
            calls,
            total_ticks,
            self_ticks,
            min_ticks,
            max_ticks,
            unwound,
            unfinished,
            hidden_calls,
        }
    }
}

/// A calling-context tree of all lanes together. A recursive function has a node per level.
///
/// Nodes are ordered: parents come before their children, and siblings in the order of their first calls. The first node is
/// the root, the host: its children are the outermost functions of the lanes' stacks, and its total is the sum of all self
/// times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallTree {
    nodes: Vec<Node>,
    unplaced: Unplaced,
}

impl CallTree {
    /// The root's id.
    pub const ROOT: NodeId = NodeId(0);

    /// Takes nodes in the order that [`CallTree`] promises, the root first, and completes the root.
    pub fn new(mut nodes: Vec<Node>) -> CallTree {
        if nodes.is_empty() {
            nodes.push(Node::new(CallTree::ROOT, HOST));
        }
        let of_root = nodes.iter().skip(1).filter(|node| node.parent == CallTree::ROOT);
        let total = of_root.fold(0u64, |sum, node| sum.saturating_add(node.total_ticks));
        if let Some(root) = nodes.first_mut() {
            *root = Node { total_ticks: total, min_ticks: total, max_ticks: total, ..*root };
        }
        CallTree { nodes, unplaced: Unplaced::default() }
    }

    /// The tree of a mean run, of the sums of several runs.
    pub(crate) fn mean(mut self, runs: u64) -> CallTree {
        for node in &mut self.nodes {
            for sum in [&mut node.calls, &mut node.total_ticks, &mut node.self_ticks, &mut node.hidden_calls]
            {
                *sum = mean(*sum, runs);
            }
        }
        self
    }

    /// Adds the functions of the calls in nodes of [`OTHER`](crate::OTHER).
    pub(crate) fn with_unplaced(self, unplaced: Unplaced) -> CallTree {
        CallTree { unplaced, ..self }
    }

    /// The calls in nodes of [`OTHER`](crate::OTHER), as far as their functions are known.
    pub(crate) fn unplaced(&self) -> &Unplaced {
        &self.unplaced
    }

    /// All nodes, the root first.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// All nodes with their ids, without the root.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (NodeId, &Node)> {
        self.nodes.iter().enumerate().skip(1).map(|(index, node)| (NodeId(index as u32), node))
    }

    /// A node; `None` if the id is from another tree.
    pub fn get(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.index())
    }

    /// The ticks spent in all calls together.
    pub fn total_ticks(&self) -> u64 {
        self.nodes.first().map_or(0, |root| root.total_ticks)
    }

    /// Walks the tree below its root, children in the order of their first calls: visits each node when it is entered
    /// (`true`) and again, after all nodes below it, when it is left.
    pub fn walk(&self, mut tell: impl FnMut(NodeId, bool)) {
        let children = self.children();
        let mut places: Vec<(NodeId, bool)> = Vec::new();
        let below = |id: NodeId| children.of(id).iter().rev().map(|&child| (child, true));
        places.extend(below(CallTree::ROOT));
        while let Some((id, entered)) = places.pop() {
            tell(id, entered);
            if entered {
                places.push((id, false));
                places.extend(below(id));
            }
        }
    }

    /// Every node's children, for walks from the root.
    pub fn children(&self) -> Children {
        let mut ends = vec![0u32; self.nodes.len() + 1];
        for (_, node) in self.iter() {
            ends[node.parent.index() + 1] += 1;
        }
        for index in 1..ends.len() {
            ends[index] += ends[index - 1];
        }
        let mut ids = vec![NodeId(0); self.nodes.len().saturating_sub(1)];
        let mut next = ends.clone();
        for (id, node) in self.iter() {
            let at = &mut next[node.parent.index()];
            ids[*at as usize] = id;
            *at += 1;
        }
        Children { ends, ids }
    }
}

/// The mean of runs, to the nearest.
pub(crate) fn mean(sum: u64, runs: u64) -> u64 {
    sum.saturating_add(runs / 2).checked_div(runs).unwrap_or(sum)
}

/// The children of every node of a tree, in the order of their first calls.
#[derive(Clone, Debug)]
pub struct Children {
    /// Where a node's children begin in `ids`; they end where the next node's begin.
    ends: Vec<u32>,
    ids: Vec<NodeId>,
}

impl Children {
    /// The children of one node; none if the id is from another tree.
    pub fn of(&self, id: NodeId) -> &[NodeId] {
        match self.ends.get(id.index()..id.index() + 2) {
            Some(&[start, end]) => self.ids.get(start as usize..end as usize).unwrap_or_default(),
            _ => &[],
        }
    }
}
