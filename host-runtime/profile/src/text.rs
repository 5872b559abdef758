//! Times and call trees as text.

use crate::nodes::{CallTree, NodeId};
use crate::symbols::Symbols;
use std::fmt;

/// A duration for people, in ten characters at most while it is below 100,000 seconds: `61 ns`, `1.234 us`,
/// `56.789 ms`, `2.000 s`.
pub fn nanos_text(nanos: u64) -> String {
    if nanos < 1_000 {
        return format!("{nanos} ns");
    }
    // Rounded before the unit is chosen, so that no 1000.000 us comes out.
    let rounded = |to: u64| nanos / to + u64::from(nanos % to * 2 >= to);
    let (thousandths, unit) = match (nanos, rounded(1_000), rounded(1_000_000)) {
        (nanos, ..) if nanos < 1_000_000 => (nanos, "us"),
        (_, micros, _) if micros < 1_000_000 => (micros, "ms"),
        (.., millis) => (millis, "s"),
    };
    format!("{}.{:03} {unit}", thousandths / 1_000, thousandths % 1_000)
}

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

#[cfg(test)]
mod tests {
    use super::nanos_text;

    #[test]
    fn times_have_the_unit_that_suits_them() {
        for (nanos, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.000 us"),
            (999_999, "999.999 us"),
            (1_000_000, "1.000 ms"),
            (1_234_499, "1.234 ms"),
            (1_234_500, "1.235 ms"),
            (999_999_499, "999.999 ms"),
            (999_999_500, "1.000 s"),
            (61_000_499_999, "61.000 s"),
            (u64::MAX, "18446744073.710 s"),
        ] {
            assert_eq!(nanos_text(nanos), text, "{nanos}");
        }
    }
}
