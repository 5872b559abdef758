//! Calls over the limit of paths, by function and caller.

use crate::symbols::OTHER;
use kperf_abi::FuncId;
use rustc_hash::FxHashMap;

/// How many pairs of functions and callers are kept. A damaged trace may have any number of functions.
const MAX_PAIRS: usize = 1 << 19;
/// For how many functions over that limit all callers are summed up.
const MAX_FUNCTIONS: usize = 1 << 17;

/// The calls in nodes of [`OTHER`]: a sum for each function and caller, without paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unplaced {
    sums: FxHashMap<(FuncId, FuncId), UnplacedSum>,
}

/// The calls of one function by another. Times are ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnplacedSum {
    /// How many they are.
    pub(crate) calls: u64,
    /// How long those were open that aren't inside another call of the function.
    pub(crate) total_ticks: u64,
    /// The same of those that aren't inside another call of the function by the same caller.
    pub(crate) arc_ticks: u64,
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
}

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnplacedCall {
    /// Its length, in ticks.
    pub(crate) ticks: u64,
    /// How long it ran itself, in ticks.
    pub(crate) self_ticks: u64,
    /// Whether it isn't inside another call of the function.
    pub(crate) is_outermost: bool,
    /// Whether it isn't inside another call of the function by the same caller.
    pub(crate) is_outermost_of_arc: bool,
    /// Whether it ended by an exception that was caught further out.
    pub(crate) unwound: bool,
    /// Whether it was cut short.
    pub(crate) unfinished: bool,
}

impl Unplaced {
    /// The function, its caller ([`OTHER`] for all that have no sum of their own), and the sum of its calls.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (FuncId, FuncId, &UnplacedSum)> {
        self.sums.iter().map(|(&(func, caller), sum)| (func, caller, sum))
    }

    /// Adds a call; where there is no room, it is in the node alone.
    pub(crate) fn add(&mut self, func: FuncId, caller: FuncId, call: UnplacedCall) {
        let mut place = (func, caller);
        if self.sums.len() >= MAX_PAIRS && !self.sums.contains_key(&place) {
            place.1 = OTHER;
            if self.sums.len() >= MAX_PAIRS + MAX_FUNCTIONS && !self.sums.contains_key(&place) {
                return;
            }
        }
        let nothing = UnplacedSum {
            calls: 0,
            total_ticks: 0,
            arc_ticks: 0,
            all_ticks: 0,
            self_ticks: 0,
            min_ticks: u64::MAX,
            max_ticks: 0,
            unwound: 0,
            unfinished: 0,
        };
        let UnplacedCall { ticks, self_ticks, is_outermost, is_outermost_of_arc, unwound, unfinished } = call;
        let sum = self.sums.entry(place).or_insert(nothing);
        sum.calls += 1;
        sum.total_ticks = sum.total_ticks.saturating_add(if is_outermost { ticks } else { 0 });
        sum.arc_ticks = sum.arc_ticks.saturating_add(if is_outermost_of_arc { ticks } else { 0 });
        sum.all_ticks = sum.all_ticks.saturating_add(ticks);
        sum.self_ticks = sum.self_ticks.saturating_add(self_ticks);
        sum.min_ticks = sum.min_ticks.min(ticks);
        sum.max_ticks = sum.max_ticks.max(ticks);
        sum.unwound += u64::from(unwound);
        sum.unfinished += u64::from(unfinished);
    }
}
