//! The call tree as rows, of which some are open.

use kperf_profile::{CallTree, NodeId, Profile};

/// A row of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeRow {
    /// The node.
    pub id: NodeId,
    /// How many callers it has, 0 for what the host called.
    pub depth: usize,
    /// Whether it has callees, and whether they are shown.
    pub state: State,
}

/// What is below a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing.
    Leaf,
    /// Callees that aren't shown.
    Closed,
    /// Callees in the rows below.
    Open,
}

/// The nodes of a tree that are to be seen.
pub struct Tree<'a> {
    tree: &'a CallTree,
    /// Each node's children, those with the most time first.
    children: Vec<Vec<NodeId>>,
    open: Vec<bool>,
    /// What is shown, from top to bottom.
    pub rows: Vec<TreeRow>,
}

impl<'a> Tree<'a> {
    /// Only what the host called is shown.
    pub fn new(profile: &'a Profile) -> Tree<'a> {
        let tree = &profile.tree;
        let mut children = vec![Vec::new(); tree.nodes().len()];
        for (id, node) in tree.iter() {
            if let Some(list) = children.get_mut(node.parent.0 as usize) {
                list.push(id);
            }
        }
        let weight = |id: &NodeId| tree.get(*id).map_or(0, |node| node.total_ticks);
        for list in &mut children {
            list.sort_by_key(|id| std::cmp::Reverse(weight(id)));
        }
        let open = vec![false; tree.nodes().len()];
        let mut shown = Tree { tree, children, open, rows: Vec::new() };
        shown.lay_out();
        shown
    }

    fn below(&self, id: NodeId) -> &[NodeId] {
        self.children.get(id.0 as usize).map_or(&[], Vec::as_slice)
    }

    fn is_open(&self, id: NodeId) -> bool {
        self.open.get(id.0 as usize).copied().unwrap_or(false)
    }

    fn lay_out(&mut self) {
        let mut rows = Vec::new();
        let mut todo: Vec<(NodeId, usize)> =
            self.below(CallTree::ROOT).iter().rev().map(|&id| (id, 0)).collect();
        while let Some((id, depth)) = todo.pop() {
            let state = match (self.below(id).is_empty(), self.is_open(id)) {
                (true, _) => State::Leaf,
                (false, false) => State::Closed,
                (false, true) => State::Open,
            };
            rows.push(TreeRow { id, depth, state });
            if state == State::Open {
                todo.extend(self.below(id).iter().rev().map(|&id| (id, depth + 1)));
            }
        }
        self.rows = rows;
    }

    /// Shows what a row called, or hides it.
    pub fn set_open(&mut self, row: usize, open: bool) {
        let Some(row) = self.rows.get(row) else { return };
        if let Some(place) = self.open.get_mut(row.id.0 as usize) {
            *place = open;
        }
        self.lay_out();
    }

    /// The row of a row's caller.
    pub fn caller(&self, row: usize) -> Option<usize> {
        let parent = self.tree.get(self.rows.get(row)?.id)?.parent;
        self.rows.iter().position(|row| row.id == parent)
    }

    /// Opens, from a row on, the path of those that took the most time, as long as one took most of its caller's. Answers the last row.
    pub fn open_hottest(&mut self, row: usize) -> usize {
        let Some(&TreeRow { mut id, .. }) = self.rows.get(row) else { return row };
        while let Some(&next) = self.below(id).first() {
            let ticks = |id| self.tree.get(id).map_or(0, |node| node.total_ticks);
            if ticks(next) <= ticks(id) / 2 {
                break;
            }
            if let Some(place) = self.open.get_mut(id.0 as usize) {
                *place = true;
            }
            id = next;
        }
        self.lay_out();
        self.rows.iter().position(|row| row.id == id).unwrap_or(row)
    }

    /// Shows the next node behind a row, in the order of the rows if all were open, of which something holds; from the first again
    /// behind the last. Answers its row.
    pub fn find(&mut self, row: usize, holds: impl Fn(NodeId) -> bool) -> Option<usize> {
        let from = self.rows.get(row).map(|row| row.id);
        let mut all = Vec::with_capacity(self.children.len());
        let mut todo: Vec<NodeId> = self.below(CallTree::ROOT).iter().rev().copied().collect();
        while let Some(id) = todo.pop() {
            all.push(id);
            todo.extend(self.below(id).iter().rev());
        }
        let begin = from.and_then(|from| all.iter().position(|&id| id == from)).map_or(0, |at| at + 1);
        let (before, after) = all.split_at(begin.min(all.len()));
        let found = *after.iter().chain(before).find(|&&id| holds(id))?;
        let mut id = found;
        while let Some(node) = self.tree.get(id).filter(|_| id != CallTree::ROOT) {
            id = node.parent;
            if let Some(place) = self.open.get_mut(id.0 as usize) {
                *place = true;
            }
        }
        self.lay_out();
        self.rows.iter().position(|row| row.id == found)
    }
}
