//! The time of each path by slices of the run. The figures of a range of time are sums of slices.
//!
//! Slices are equally long, `2^n` ticks. Memory is bounded: a node of the call tree has an entry for each slice in which
//! its calls were open, and when all have more entries than the budget, slices are made twice as long. The slices of a
//! profile that was sampled are its windows.

use crate::reading::profile::Profile;
use crate::tree::nodes::{CallTree, NodeId};
use crate::tree::observer::{Call, CallObserver};
use kperf_abi::FuncId;
use rustc_hash::FxHashMap;

/// The figures of a node's calls in one slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Which slice: while slices are collected, the ticks at its beginning divided by its length; in [`Sliced`], an index.
    pub slice: u64,
    /// How long the calls were open in it, in ticks.
    pub ticks: u64,
    /// How many calls began in it.
    pub calls: u64,
}

/// Collects the slices of a trace. There are no more of them than entries may be, nor than [`MAX_SLICES`].
#[derive(Clone, Debug)]
pub struct Slices {
    /// By node of the call tree. In order of time, but for calls of several lanes on one path.
    nodes: Vec<Vec<Entry>>,
    entries: usize,
    budget: usize,
    /// A slice is `2^shift` ticks long.
    shift: u32,
}

/// The slices of a whole run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sliced {
    /// Beginning and end of each slice, in ticks. Those of a sampled profile's lanes may overlap.
    pub ranges: Vec<(u64, u64)>,
    /// By node of the call tree; in the order of the slices, no slice twice.
    pub nodes: Vec<Vec<Entry>>,
}

/// How many slices a run has at most, whatever the budget of entries is.
const MAX_SLICES: usize = 1 << 22;

impl Slices {
    /// Nothing yet; there will be at most `budget` entries (or one for each node, if that is more).
    pub fn new(budget: usize) -> Slices {
        Slices { nodes: Vec::new(), entries: 0, budget, shift: 0 }
    }

    /// The slices of the calls that were seen. If the profile was sampled, these are its windows instead, as far as they
    /// were kept. A program that ran several times has none: its figures are means of runs, and not sums.
    pub fn finish(self, profile: &Profile) -> Sliced {
        if profile.runs().is_some() {
            return Sliced { ranges: Vec::new(), nodes: Vec::new() };
        }
        if profile.sampling().is_some() { of_windows(profile) } else { self.into_sliced() }
    }

    fn into_sliced(mut self) -> Sliced {
        self.nodes.iter_mut().for_each(merge);
        let Some((mut first, mut last)) = self.ends() else {
            return Sliced { ranges: Vec::new(), nodes: Vec::new() };
        };
        // Between two short calls there may be hours in which nothing ran. Each slice there costs something, too.
        while last - first >= self.budget.min(MAX_SLICES) as u64 && self.shift < 63 {
            self.widen();
            (first, last) = (first >> 1, last >> 1);
        }
        let begin = |slice: u64| slice << self.shift;
        let end = |slice: u64| begin(slice).saturating_add((1u64 << self.shift) - 1).saturating_add(1);
        let ranges = (first..=last).map(|slice| (begin(slice), end(slice))).collect();
        self.nodes.iter_mut().flatten().for_each(|entry| entry.slice -= first);
        Sliced { ranges, nodes: self.nodes }
    }

    /// The first slice and the last one.
    fn ends(&self) -> Option<(u64, u64)> {
        let slices = || self.nodes.iter().flatten().map(|entry| entry.slice);
        slices().min().zip(slices().max())
    }

    /// Makes slices twice as long until there is room for as many entries again.
    #[cold]
    fn coarsen(&mut self) {
        while self.entries > self.budget / 2 && self.shift < 63 {
            self.widen();
        }
        // If each node has one entry and that is too much, there are as many as nodes.
        self.budget = self.budget.max(self.entries * 2);
    }

    fn widen(&mut self) {
        self.shift += 1;
        self.entries = 0;
        for entries in &mut self.nodes {
            entries.iter_mut().for_each(|entry| entry.slice >>= 1);
            merge(entries);
            self.entries += entries.len();
        }
    }

    #[inline]
    fn add(&mut self, node: NodeId, slice: u64, ticks: u64, calls: u64) {
        let Some(entries) = self.nodes.get_mut(node.index()) else { return };
        match entries.last_mut() {
            Some(last) if last.slice == slice => {
                last.ticks = last.ticks.saturating_add(ticks);
                last.calls += calls;
            }
            _ => {
                entries.push(Entry { slice, ticks, calls });
                self.entries += 1;
            }
        }
    }
}

impl CallObserver for Slices {
    #[inline]
    fn call(&mut self, call: &Call) {
        let &Call { node, is_shared, start_ticks, mut end_ticks, .. } = call;
        if is_shared {
            // The time of the call around it is there.
            end_ticks = start_ticks;
        }
        if self.nodes.len() <= node.index() {
            self.nodes.resize_with(node.index() + 1, Vec::new);
        }
        // A call may last longer than there is room for slices.
        while (end_ticks >> self.shift) - (start_ticks >> self.shift) > (self.budget as u64 / 4).max(1) {
            self.widen();
        }
        let (first, last) = (start_ticks >> self.shift, end_ticks >> self.shift);
        if first == last {
            self.add(node, first, end_ticks - start_ticks, 1);
        } else {
            let begin = |slice: u64| slice << self.shift;
            let width = 1u64 << self.shift;
            let (head, tail) = (width - (start_ticks - begin(first)), end_ticks - begin(last));
            self.add(node, first, head, 1);
            (first + 1..last).for_each(|slice| self.add(node, slice, width, 0));
            if tail > 0 {
                self.add(node, last, tail, 0);
            }
        }
        if self.entries > self.budget {
            self.coarsen();
        }
    }
}

/// Sorts entries, and joins entries of the same slice.
fn merge(entries: &mut Vec<Entry>) {
    if !entries.is_sorted_by_key(|entry| entry.slice) {
        entries.sort_by_key(|entry| entry.slice);
    }
    entries.dedup_by(|next, kept| {
        let same = next.slice == kept.slice;
        if same {
            kept.ticks = kept.ticks.saturating_add(next.ticks);
            kept.calls += next.calls;
        }
        same
    });
}

/// The windows of a profile as slices; each window's paths are found in the tree of all.
fn of_windows(profile: &Profile) -> Sliced {
    let tree = profile.tree.nodes();
    let places: FxHashMap<(NodeId, FuncId), NodeId> =
        profile.tree.iter().map(|(id, node)| ((node.parent, node.func), id)).collect();
    let mut nodes = vec![Vec::new(); tree.len()];
    for (slice, window) in (0u64..).zip(&profile.windows) {
        let mut found: Vec<Option<NodeId>> = vec![Some(CallTree::ROOT)];
        for (_, node) in window.tree.iter() {
            let parent = found.get(node.parent.index()).copied().flatten();
            let place = parent.and_then(|parent| places.get(&(parent, node.func)).copied());
            found.push(place);
            if let Some(entries) = place.and_then(|place| nodes.get_mut(place.index()))
                && (node.total_ticks > 0 || node.calls > 0)
            {
                entries.push(Entry { slice, ticks: node.total_ticks, calls: node.calls });
            }
        }
    }
    let ranges = profile.windows.iter().map(|window| (window.start_ticks, window.end_ticks)).collect();
    Sliced { ranges, nodes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::visitor::Ending;
    use kperf_trace::LaneId;

    fn call(node: u32, start_ticks: u64, end_ticks: u64) -> Call {
        let lane = LaneId { recorder: 0, stack: 0 };
        let (func, ending) = (FuncId(node), Ending::Leave);
        Call { lane, depth: 0, func, node: NodeId(node), is_shared: false, start_ticks, end_ticks, ending }
    }

    fn sums(sliced: &Sliced) -> Vec<(u64, u64)> {
        let sum = |entries: &Vec<Entry>| {
            (entries.iter().map(|entry| entry.ticks).sum(), entries.iter().map(|entry| entry.calls).sum())
        };
        sliced.nodes.iter().map(sum).collect()
    }

    #[test]
    fn slices_get_longer_and_lose_nothing() {
        for budget in [4, 10, 100, 100_000] {
            let mut slices = Slices::new(budget);
            for n in 0..1_000 {
                slices.call(&call(2, 1_000 + n * 10, 1_000 + n * 10 + 3));
            }
            slices.call(&call(1, 1_000, 11_000));
            let sliced = slices.into_sliced();
            assert_eq!(sums(&sliced), [(0, 0), (10_000, 1), (3_000, 1_000)], "{budget}");
            assert!(sliced.nodes.iter().map(Vec::len).sum::<usize>() <= budget.max(4), "{budget}");
            let wholes = sliced
                .ranges
                .iter()
                .all(|(start, end)| end - start == sliced.ranges[0].1 - sliced.ranges[0].0);
            assert!(wholes && sliced.ranges.is_sorted());
        }
    }

    #[test]
    fn lanes_may_take_turns() {
        let mut slices = Slices::new(6);
        for (start, end) in [(100, 103), (10, 20), (104, 105), (21, 40)] {
            slices.call(&call(1, start, end));
        }
        let sliced = slices.into_sliced();
        assert_eq!(sums(&sliced)[1], (33, 4));
        assert!(sliced.nodes[1].is_sorted_by(|a, b| a.slice < b.slice));
    }

    #[test]
    fn the_longest_call_takes_bounded_memory() {
        let mut slices = Slices::new(1_000);
        slices.call(&call(1, 0, u64::MAX));
        slices.call(&call(1, u64::MAX, u64::MAX));
        let sliced = slices.into_sliced();
        assert!(sliced.ranges.len() <= 1_000);
        assert_eq!(sums(&sliced)[1].1, 2);
        assert_eq!(Slices::new(0).into_sliced().ranges, []);
        // A call of a microsecond, an hour later another.
        let mut slices = Slices::new(1_000);
        for start in [5_000, 3_600_000_000_000] {
            slices.call(&call(1, start, start + 1_000));
        }
        let sliced = slices.into_sliced();
        assert!((500..=1_000).contains(&sliced.ranges.len()), "{}", sliced.ranges.len());
        assert_eq!(sums(&sliced)[1], (2_000, 2));
    }
}
