//! Calls of functions that have no nodes of their own, as there were too many paths.

use crate::frames::Ending;
use crate::symbols::OTHER;
use kperf_abi::FuncId;
use rustc_hash::FxHashMap;

/// The calls of one function that are in nodes of [`OTHER`](crate::OTHER): what is known of them without their paths. Times are ticks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unplaced {
    /// How many they are.
    pub(crate) calls: u64,
    /// How long those were open that aren't inside another call of the function.
    pub(crate) total_ticks: u64,
    /// How long all of them were open.
    pub(crate) all_ticks: u64,
    /// How long they ran themselves.
    pub(crate) self_ticks: u64,
    /// The length of the shortest.
    pub(crate) min_ticks: u64,
    /// The length of the longest.
    pub(crate) max_ticks: u64,
    /// How many ended by an exception that was caught further out.
    pub(crate) unwound: u64,
    /// How many were cut short.
    pub(crate) unfinished: u64,
    /// How many of them a function made.
    pub(crate) callers: FxHashMap<FuncId, u64>,
}

impl Default for Unplaced {
    fn default() -> Self {
        Unplaced {
            calls: 0,
            total_ticks: 0,
            all_ticks: 0,
            self_ticks: 0,
            min_ticks: u64::MAX,
            max_ticks: 0,
            unwound: 0,
            unfinished: 0,
            callers: FxHashMap::default(),
        }
    }
}

/// Of so many functions these calls are known. A damaged trace may have any number of functions.
const MAX_FUNCTIONS: usize = 1 << 17;
/// So many pairs of functions and callers are known.
const MAX_CALLERS: usize = 1 << 20;

/// The calls of all functions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AllUnplaced {
    by_function: FxHashMap<FuncId, Unplaced>,
    /// How many pairs of functions and callers there are.
    callers: usize,
}

impl AllUnplaced {
    /// The functions of which such calls are known.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (FuncId, &Unplaced)> {
        self.by_function.iter().map(|(&func, unplaced)| (func, unplaced))
    }

    /// Adds a call, with its length and its own time. `is_outermost`: it isn't inside another one of the function.
    pub(crate) fn add(
        &mut self,
        (func, mut caller): (FuncId, FuncId),
        times: (u64, u64),
        is_outermost: bool,
        ending: Ending,
    ) {
        if self.by_function.len() >= MAX_FUNCTIONS && !self.by_function.contains_key(&func) {
            return;
        }
        let unplaced = self.by_function.entry(func).or_default();
        if !unplaced.callers.contains_key(&caller) {
            self.callers += 1;
            caller = if self.callers > MAX_CALLERS { OTHER } else { caller };
        }
        *unplaced.callers.entry(caller).or_default() += 1;
        unplaced.add(times, is_outermost, ending);
    }
}

impl Unplaced {
    fn add(&mut self, (duration, own): (u64, u64), is_outermost: bool, ending: Ending) {
        self.calls += 1;
        self.total_ticks = self.total_ticks.saturating_add(if is_outermost { duration } else { 0 });
        self.all_ticks = self.all_ticks.saturating_add(duration);
        self.self_ticks = self.self_ticks.saturating_add(own);
        self.min_ticks = self.min_ticks.min(duration);
        self.max_ticks = self.max_ticks.max(duration);
        if ending != Ending::Leave {
            *(if ending.is_caught() { &mut self.unwound } else { &mut self.unfinished }) += 1;
        }
    }
}
