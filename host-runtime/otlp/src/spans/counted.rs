//! Sums up the windows of a profile for each function.

use kperf_abi::FuncId;
use kperf_trace::Window;
use std::collections::BTreeMap;

/// The sums over all windows, for each function.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    functions: BTreeMap<FuncId, Figures>,
    has_windows: bool,
}

/// The sums for one function.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Figures {
    pub(crate) calls: u64,
    pub(crate) self_ticks: u64,
}

impl Counted {
    /// Adds a window. The time of functions that are not kept counts for the innermost kept caller, as if they had no probes.
    pub(crate) fn add(&mut self, window: &Window, mut is_kept: impl FnMut(FuncId) -> bool) {
        self.has_windows = true;
        for &(func, calls) in &window.calls {
            if !is_kept(func) {
                continue;
            }
            let figures = self.functions.entry(func).or_default();
            figures.calls = figures.calls.saturating_add(calls);
        }
        // The function that gets the time of each node; parents come before their children.
        let mut owners: Vec<Option<FuncId>> = Vec::with_capacity(window.nodes.len());
        for node in &window.nodes {
            let around = node.parent.and_then(|parent| owners.get(parent as usize).copied().flatten());
            let owner = if is_kept(node.func) { Some(node.func) } else { around };
            owners.push(owner);
            let Some(owner) = owner else { continue };
            let figures = self.functions.entry(owner).or_default();
            figures.self_ticks = figures.self_ticks.saturating_add(node.self_ticks);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.has_windows
    }

    /// The functions, by increasing id.
    pub(crate) fn functions(&self) -> impl Iterator<Item = (FuncId, Figures)> + '_ {
        self.functions.iter().map(|(&func, &figures)| (func, figures))
    }
}
