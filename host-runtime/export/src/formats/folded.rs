//! Folded stacks: a line per path of calls with its self time, for Brendan Gregg's flame graphs.
//!
//! ```text
//! life::main;life::play;life::step 1714
//! ```
//!
//! Functions that have a `;` in their names have a `,` there.

use kperf_abi::FuncId;
use kperf_profile::{PathWeights, Paths, Profile, Shortened, is_pause};
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
    /// Bytes, in a tree of [`Heap::tree`](kperf_profile::Heap::tree).
    Bytes,
}

/// Writes a line for each path, parents before their children. Paths of weight 0 are left out. All together have a gigabyte
/// at most: deeper paths count for their outer part.
pub fn write(profile: &Profile, weight: Weight, mut out: impl Write) -> io::Result<Shortened> {
    let what = (weight, Pauses::Shown);
    let shortened =
        each_line(profile, what, Paths::MAX_FILE, |stack, weight| writeln!(out, "{stack} {weight}"))?;
    out.flush()?;
    Ok(shortened)
}

/// Whether the recorder and waits are shown, which are no function's self time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pauses {
    Shown,
    LeftOut,
}

/// Tells of each path of weight: its functions, the outermost first, with `;` between them; `max` bytes of these at most.
pub(super) fn each_line(
    profile: &Profile,
    (weight, pauses): (Weight, Pauses),
    max: u64,
    mut tell: impl FnMut(&str, u64) -> io::Result<()>,
) -> io::Result<Shortened> {
    let Profile { tree, symbols, header, .. } = profile;
    let mut names: FxHashMap<FuncId, String> = FxHashMap::default();
    let mut name_of = |func| names.entry(func).or_insert_with(|| symbols.label(func).replace(';', ",")).len();
    let paths = Paths::new(tree, &mut name_of, max);
    let mut stack = String::new();
    // How long the stack was before each open node.
    let mut lengths: Vec<usize> = Vec::new();
    let mut result = Ok(());
    tree.walk(|id, entered| {
        let Some(node) = tree.get(id).filter(|_| result.is_ok()) else { return };
        let Some(PathWeights { calls, self_ticks }) = paths.weights(tree, id) else { return };
        if !entered {
            stack.truncate(lengths.pop().unwrap_or(0));
            return;
        }
        lengths.push(stack.len());
        if !stack.is_empty() {
            stack.push(';');
        }
        stack.push_str(names.get(&node.func).map_or("", String::as_str));
        let weight = match weight {
            Weight::Nanos => header.nanos(self_ticks),
            Weight::Calls => calls,
            Weight::Bytes => self_ticks,
        };
        if weight > 0 && (pauses == Pauses::Shown || !is_pause(node.func)) {
            result = tell(&stack, weight);
        }
    });
    result.map(|()| paths.shortened)
}
