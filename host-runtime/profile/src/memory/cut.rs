//! Counts the calls of allocators inside allocator calls that never ended.
//!
//! Until the host closes such a call, all later calls look like the allocator's own work. That isn't recorded, so their
//! allocations are lost.

use crate::frames::visitor::Ending;
use crate::symbols::Symbols;
use crate::tree::observer::Call;
use kperf_abi::FuncId;
use kperf_trace::LaneId;
use rustc_hash::{FxHashMap, FxHashSet};

/// How many lanes are kept.
const MAX_LANES: usize = 1 << 12;

/// The counter, fed with each call when it ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct CutOffCalls {
    allocators: FxHashSet<FuncId>,
    /// For each lane, the depth of each call that ended last, the outermost first, and the ended allocator calls within it.
    ended: FxHashMap<LaneId, Vec<(usize, u64)>>,
    /// How many ended allocator calls are inside of allocator calls that didn't leave.
    pub(crate) lost: u64,
}

impl CutOffCalls {
    pub(crate) fn symbols(&mut self, symbols: &Symbols) {
        for table in symbols.tables() {
            let Some(allocations) = &table.module.allocations else { continue };
            let wanted: FxHashSet<_> =
                allocations.allocators.iter().map(|allocator| allocator.func_index).collect();
            let ids =
                table.symbols.iter().filter(|symbol| wanted.contains(&symbol.func_index) && !symbol.imported);
            self.allocators.extend(ids.map(|symbol| symbol.id));
        }
    }

    #[inline]
    pub(crate) fn call(&mut self, call: &Call) {
        if !self.allocators.is_empty() {
            self.ended(call);
        }
    }

    fn ended(&mut self, &Call { lane, depth, func, ending, .. }: &Call) {
        if self.ended.len() >= MAX_LANES && !self.ended.contains_key(&lane) {
            return;
        }
        let ended = self.ended.entry(lane).or_default();
        let mut inside = 0;
        while let Some((_, count)) = ended.pop_if(|(other, _)| *other > depth) {
            inside += count;
        }
        if self.allocators.contains(&func) {
            if ending == Ending::Leave {
                inside = 1;
            } else {
                // If the guest caught the exception (such as for exhausted memory), the call was closed in time.
                self.lost += if ending.is_caught() { 0 } else { inside };
                inside = 0;
            }
        }
        match ended.last_mut() {
            Some((other, count)) if *other == depth => *count += inside,
            _ if inside > 0 => ended.push((depth, inside)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::nodes::CallTree;
    use kperf_trace::Reason;

    #[test]
    fn calls_below_one_that_was_cut_off_are_counted() {
        const MALLOC: FuncId = FuncId(1);
        let mut cut = CutOffCalls { allocators: [MALLOC].into_iter().collect(), ..CutOffCalls::default() };
        let lane = LaneId { recorder: 0, stack: 0 };
        let mut end = |depth, func, ending| {
            let (node, is_shared, start_ticks, end_ticks) = (CallTree::ROOT, false, 0, 0);
            cut.call(&Call { lane, depth, func, node, is_shared, start_ticks, end_ticks, ending });
            cut.lost
        };
        let trap = Ending::Unwound(Reason::Trap);
        // calloc { malloc }, and a call that traps outside of them.
        end(3, MALLOC, Ending::Leave);
        end(2, MALLOC, Ending::Leave);
        assert_eq!(end(1, FuncId(7), trap), 0);
        // malloc { the host's next call { malloc, malloc } }: the first never ends.
        end(4, MALLOC, Ending::Leave);
        end(4, MALLOC, Ending::Leave);
        end(3, FuncId(7), Ending::Leave);
        assert_eq!(end(2, MALLOC, trap), 2);
        assert_eq!(end(0, FuncId(8), trap), 2);
        // operator new { malloc }, which throws.
        end(1, MALLOC, Ending::Leave);
        assert_eq!(end(0, MALLOC, Ending::Unwound(Reason::Caught)), 2);
    }
}
