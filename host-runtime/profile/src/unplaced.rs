//! Calls of functions that have no nodes of their own, as there were too many paths.

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

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnplacedCall {
    /// Its length.
    pub(crate) ticks: u64,
    /// How long it ran itself.
    pub(crate) own_ticks: u64,
    /// Whether it isn't inside another call of the function.
    pub(crate) is_outermost: bool,
    /// Whether it ended by an exception that was caught further out.
    pub(crate) unwound: bool,
    /// Whether it was cut short.
    pub(crate) unfinished: bool,
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

    /// Adds a call; where there is no room, it is in OTHER alone.
    pub(crate) fn add(&mut self, func: FuncId, mut caller: FuncId, call: UnplacedCall) {
        if self.by_function.len() >= MAX_FUNCTIONS && !self.by_function.contains_key(&func) {
            return;
        }
        let unplaced = self.by_function.entry(func).or_default();
        if !unplaced.callers.contains_key(&caller) {
            self.callers += 1;
            caller = if self.callers > MAX_CALLERS { OTHER } else { caller };
        }
        *unplaced.callers.entry(caller).or_default() += 1;
        unplaced.add(call);
    }
}

impl Unplaced {
    fn add(&mut self, call: UnplacedCall) {
        let UnplacedCall { ticks, own_ticks, is_outermost, unwound, unfinished } = call;
        self.calls += 1;
        self.total_ticks = self.total_ticks.saturating_add(if is_outermost { ticks } else { 0 });
        self.all_ticks = self.all_ticks.saturating_add(ticks);
        self.self_ticks = self.self_ticks.saturating_add(own_ticks);
        self.min_ticks = self.min_ticks.min(ticks);
        self.max_ticks = self.max_ticks.max(ticks);
        self.unwound += u64::from(unwound);
        self.unfinished += u64::from(unfinished);
    }
}
