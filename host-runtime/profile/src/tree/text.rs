//! A call tree as indented text.

use crate::symbols::Symbols;
use crate::tree::nodes::{CallTree, NodeId};
use std::fmt;

impl CallTree {
    /// The tree as indented text, in ticks: for tests, and for looking at it.
    ///
    /// ```text
    /// main: 1 call, total 100, self 10
    ///   step: 2 calls, total 90, self 90, min 40, max 50, 1 unwound
    /// ```
    pub fn display<'a>(&'a self, symbols: &'a Symbols) -> impl fmt::Display + 'a {
        Display { tree: self, symbols }
    }
}

struct Display<'a> {
    tree: &'a CallTree,
    symbols: &'a Symbols,
}

impl fmt::Display for Display<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let children = self.tree.children();
        let of = |id: NodeId, depth: usize| children.of(id).iter().rev().map(move |&child| (child, depth));
        let mut stack: Vec<(NodeId, usize)> = of(CallTree::ROOT, 0).collect();
        while let Some((id, depth)) = stack.pop() {
            let Some(node) = self.tree.get(id) else { continue };
            let (name, calls) = (self.symbols.label(node.func), node.calls);
            let plural = if calls == 1 { "" } else { "s" };
            write!(f, "{:depth$}{name}: {calls} call{plural}", "", depth = 2 * depth)?;
            write!(f, ", total {}, self {}", node.total_ticks, node.self_ticks)?;
            if calls > 1 {
                write!(f, ", min {}, max {}", node.min_ticks, node.max_ticks)?;
            }
            for (count, what) in [(node.unwound, "unwound"), (node.unfinished, "unfinished")] {
                if count > 0 {
                    write!(f, ", {count} {what}")?;
                }
            }
            writeln!(f)?;
            stack.extend(of(id, depth + 1));
        }
        Ok(())
    }
}
