//! Sums up the windows of a profile for each function.

use kperf_abi::FuncId;
use kperf_trace::Window;
use std::collections::BTreeMap;

/// The sums over all windows, for each function.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    functions: BTreeMap<FuncId, Figures>,
}

/// The sums for one function.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Figures {
    pub(crate) calls: u64,
    pub(crate) self_ticks: u64,
}

impl Counted {
    pub(crate) fn add(&mut self, window: &Window) {
        for &(func, calls) in &window.calls {
            let figures = self.functions.entry(func).or_default();
            figures.calls = figures.calls.saturating_add(calls);
        }
        for node in &window.nodes {
            let figures = self.functions.entry(node.func).or_default();
            figures.self_ticks = figures.self_ticks.saturating_add(node.self_ticks);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// The functions, by increasing id.
    pub(crate) fn functions(&self) -> impl Iterator<Item = (FuncId, Figures)> + '_ {
        self.functions.iter().map(|(&func, &figures)| (func, figures))
    }
}
