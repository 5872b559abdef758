//! Folded stacks: a line per path of calls with what it took itself, as Brendan Gregg's flame graphs want it.
//!
//! ```text
//! life::main;life::play;life::step 1714
//! ```
//!
//! Functions that have a `;` in their names have a `,` there.

use crate::profile::Profile;
use kperf_abi::FuncId;
use rustc_hash::FxHashMap;
use std::io::{self, Write};

/// What the numbers are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weight {
    /// Self time in nanoseconds.
    #[default]
    Nanos,
    /// Calls.
    Calls,
}

/// Writes a line for each path, parents before their children. Paths of weight 0 are left out.
pub fn write(profile: &Profile, weight: Weight, mut out: impl Write) -> io::Result<()> {
    each_line(profile, weight, |stack, weight| writeln!(out, "{stack} {weight}"))?;
    out.flush()
}

/// Tells of each path of weight: its functions, the outermost first, with `;` between them.
pub(super) fn each_line(
    profile: &Profile,
    weight: Weight,
    mut tell: impl FnMut(&str, u64) -> io::Result<()>,
) -> io::Result<()> {
    let Profile { tree, symbols, header, .. } = profile;
    let mut names: FxHashMap<FuncId, String> = FxHashMap::default();
    let mut stack = String::new();
    // How long the stack was before each open node.
    let mut lengths: Vec<usize> = Vec::new();
    let mut result = Ok(());
    tree.walk(|id, entered| {
        let Some(node) = tree.get(id).filter(|_| result.is_ok()) else { return };
        if !entered {
            stack.truncate(lengths.pop().unwrap_or(0));
            return;
        }
        lengths.push(stack.len());
        if !stack.is_empty() {
            stack.push(';');
        }
        stack.push_str(names.entry(node.func).or_insert_with(|| symbols.label(node.func).replace(';', ",")));
        let weight = match weight {
            Weight::Nanos => header.nanos(node.self_ticks),
            Weight::Calls => node.calls,
        };
        if weight > 0 {
            result = tell(&stack, weight);
        }
    });
    result
}
