//! What a trace says of memory: which calls allocated how much, what was freed, and what was left.

use crate::calls::{Call, CallObserver};
use crate::nodes::{CallTree, Node, NodeId};
use crate::symbols::Symbols;
use kperf_trace::{Allocation, LaneId};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// How many blocks are followed from their allocation to their end. Those beyond count as allocated, and as nothing else.
pub const MAX_LIVE_BLOCKS: usize = 1 << 22;

/// Bytes of a page of memory.
pub const PAGE: u64 = 1 << 16;

/// What calls on one path allocated. Blocks count where they were allocated, wherever they were freed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapFigures {
    /// Blocks that were allocated, those that others were resized to included.
    pub blocks: u64,
    /// How many bytes were asked for.
    pub bytes: u64,
    /// How many of these blocks are what others were resized to.
    pub resized: u64,
    /// Blocks of these that were freed, or resized again, and their bytes.
    pub freed_blocks: u64,
    /// Their bytes.
    pub freed_bytes: u64,
    /// Blocks that were there when the program had the most bytes, and their bytes.
    pub peak_blocks: u64,
    /// Their bytes.
    pub peak_bytes: u64,
    /// Blocks that were there at the end.
    pub live_blocks: u64,
    /// Their bytes.
    pub live_bytes: u64,
    /// How long the blocks were there that were freed, all together, in ticks.
    pub lifetime_ticks: u64,
    /// Allocations that failed.
    pub failed: u64,
    /// Objects that are collected: nobody tells when they are gone.
    pub objects: u64,
    /// Their bytes.
    pub object_bytes: u64,
    /// Pages by which memories grew.
    pub grown_pages: u64,
    /// How often memories were to grow, and didn't.
    pub failed_growths: u64,
}

impl HeapFigures {
    /// All bytes that were asked for.
    pub fn allocated_bytes(&self) -> u64 {
        self.bytes.saturating_add(self.object_bytes)
    }

    /// All blocks and objects.
    pub fn allocated(&self) -> u64 {
        self.blocks.saturating_add(self.objects)
    }

    /// Adds other figures to these.
    pub fn add(&mut self, other: &HeapFigures) {
        let pairs = [
            (&mut self.blocks, other.blocks),
            (&mut self.bytes, other.bytes),
            (&mut self.resized, other.resized),
            (&mut self.freed_blocks, other.freed_blocks),
            (&mut self.freed_bytes, other.freed_bytes),
            (&mut self.peak_blocks, other.peak_blocks),
            (&mut self.peak_bytes, other.peak_bytes),
            (&mut self.live_blocks, other.live_blocks),
            (&mut self.live_bytes, other.live_bytes),
            (&mut self.lifetime_ticks, other.lifetime_ticks),
            (&mut self.failed, other.failed),
            (&mut self.objects, other.objects),
            (&mut self.object_bytes, other.object_bytes),
            (&mut self.grown_pages, other.grown_pages),
            (&mut self.failed_growths, other.failed_growths),
        ];
        for (sum, more) in pairs {
            *sum = sum.saturating_add(more);
        }
    }
}

/// What didn't fit together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapProblems {
    /// Blocks that were freed or resized, and whose allocation isn't in the trace.
    pub unknown: u64,
    /// Blocks that were given once more although they were there.
    pub given_twice: u64,
    /// Allocations beyond [`MAX_LIVE_BLOCKS`].
    pub beyond: u64,
}

/// A block that is there.
#[derive(Clone, Copy, Debug)]
struct Block {
    /// How many blocks it stands for, and their bytes: one, if it is no sample.
    count: u64,
    size: u64,
    node: u32,
    ticks: u64,
}

/// A block's address, and whose it is: a recorder's, or [`SHARED`].
type Place = (u32, u64);

/// Stands for all recorders that share a memory.
const SHARED: u32 = u32::MAX;

/// Follows the blocks of a trace, as an observer of its calls. Its memory: figures for each node of the call tree, and the
/// blocks that are there at a time, [`MAX_LIVE_BLOCKS`] at most.
#[derive(Clone, Debug, Default)]
pub struct Heap {
    /// By node of the call tree.
    nodes: Vec<HeapFigures>,
    live: FxHashMap<Place, Block>,
    /// The events of threads come in the order of their blocks. So a block may be given once more before it is freed, or be freed
    /// before it is given.
    given_before: FxHashMap<Place, VecDeque<Block>>,
    freed_before: FxHashMap<Place, u32>,
    displaced: usize,
    is_shared: bool,
    /// One sample stands for so many bytes, on average; 0: all was recorded.
    sample: u64,
    /// How many bytes there are, and were at most.
    now: u64,
    peak: u64,
    peak_ticks: u64,
    /// The nodes whose figures have changed since the peak.
    changed: Vec<u32>,
    /// Whether a node is among these; by node.
    has_changed: Vec<bool>,
    /// How many pages each memory had last, by recorder and index.
    pages: FxHashMap<(u32, u32), u64>,
    problems: HeapProblems,
    records: u64,
}

impl Heap {
    /// Nothing yet. `is_shared`: all recorders' blocks are in one memory.
    pub fn new(is_shared: bool) -> Heap {
        Heap { is_shared, ..Heap::default() }
    }

    /// What the calls of a node allocated themselves.
    pub fn of(&self, node: NodeId) -> HeapFigures {
        self.nodes.get(node.index()).copied().unwrap_or_default()
    }

    /// All of it.
    pub fn total(&self) -> HeapFigures {
        let mut total = HeapFigures::default();
        self.nodes.iter().for_each(|figures| total.add(figures));
        total
    }

    /// How many bytes there were at most, and when: in ticks.
    pub fn peak(&self) -> (u64, u64) {
        (self.peak, self.peak_ticks)
    }

    /// How many pages a memory of a recorder's had last, if it grew.
    pub fn pages(&self) -> impl Iterator<Item = ((u32, u32), u64)> + '_ {
        self.pages.iter().map(|(&place, &pages)| (place, pages))
    }

    /// How many records there were.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// What didn't fit together.
    pub fn problems(&self) -> HeapProblems {
        let early = self.freed_before.values().map(|&count| u64::from(count)).sum::<u64>();
        HeapProblems { unknown: self.problems.unknown.saturating_add(early), ..self.problems }
    }

    /// Each a sentence without its full stop.
    pub fn warnings(&self) -> Vec<String> {
        let HeapProblems { unknown, given_twice, beyond } = self.problems();
        let mut told = Vec::new();
        if unknown > 0 {
            told.push(format!(
                "{unknown} blocks were freed whose allocation was not seen: an allocator's function is not known, or was compiled \
                 into its callers (--allocator names functions)"
            ));
        }
        if given_twice > 0 {
            told.push(format!(
                "{given_twice} blocks were given once more without having been freed: a function that frees is not known, or was \
                 compiled into its callers (--allocator names functions)"
            ));
        }
        if beyond > 0 {
            told.push(format!(
                "{beyond} allocations are not followed to their end: {MAX_LIVE_BLOCKS} blocks are, at a time"
            ));
        }
        told
    }

    /// The tree with other weights: `calls` and self and total times are numbers of blocks and bytes, that a path has itself and
    /// with all that it called.
    pub fn tree(&self, tree: &CallTree, weigh: impl Fn(&HeapFigures) -> (u64, u64)) -> CallTree {
        let mut nodes: Vec<Node> = tree.nodes().to_vec();
        for (index, node) in (0u32..).zip(&mut nodes) {
            let (blocks, bytes) = weigh(&self.of(NodeId(index)));
            *node = Node { calls: blocks, self_ticks: bytes, total_ticks: bytes, hidden_calls: 0, ..*node };
        }
        for index in (1..nodes.len()).rev() {
            let Node { parent, total_ticks, .. } = nodes[index];
            nodes[parent.index()].total_ticks = nodes[parent.index()].total_ticks.saturating_add(total_ticks);
        }
        CallTree::new(nodes)
    }

    /// How many blocks a block of so many bytes stands for, and how many bytes these have.
    fn weigh(&self, size: u64) -> (u64, u64) {
        if self.sample == 0 {
            return (1, size);
        }
        let probability = -(-(size as f64) / self.sample as f64).exp_m1();
        // A block of no bytes is never a sample, unless a trace was made to deceive.
        let weight = 1.0 / probability.max(1.0 / self.sample as f64);
        (weight.round() as u64, (size as f64 * weight).round() as u64)
    }

    fn figures(&mut self, node: u32) -> &mut HeapFigures {
        let index = node as usize;
        if self.nodes.len() <= index {
            self.nodes.resize(index + 1, HeapFigures::default());
            self.has_changed.resize(index + 1, false);
        }
        &mut self.nodes[index]
    }

    /// The bytes of a node that are there are about to change.
    fn change(&mut self, node: u32) {
        self.figures(node);
        if !std::mem::replace(&mut self.has_changed[node as usize], true) {
            self.changed.push(node);
        }
    }

    fn give(&mut self, place: Place, block: Block, resized: bool) {
        let figures = self.figures(block.node);
        figures.blocks = figures.blocks.saturating_add(block.count);
        figures.bytes = figures.bytes.saturating_add(block.size);
        figures.resized = figures.resized.saturating_add(if resized { block.count } else { 0 });
        if let Some(count) = self.freed_before.get_mut(&place) {
            // It was freed by a thread whose events came first.
            *count -= 1;
            if *count == 0 {
                self.freed_before.remove(&place);
            }
            self.end(block, block.ticks, false);
            return;
        }
        if self.live.len() >= MAX_LIVE_BLOCKS && !self.live.contains_key(&place) {
            self.problems.beyond += 1;
            return;
        }
        if let Some(before) = self.live.insert(place, block) {
            if self.is_shared && self.displaced < MAX_LIVE_BLOCKS {
                self.displaced += 1;
                self.given_before.entry(place).or_default().push_back(before);
            } else {
                self.problems.given_twice += 1;
                self.end(before, block.ticks, true);
            }
        }
        self.change(block.node);
        let figures = self.figures(block.node);
        figures.live_blocks = figures.live_blocks.saturating_add(block.count);
        figures.live_bytes = figures.live_bytes.saturating_add(block.size);
        self.now = self.now.saturating_add(block.size);
        if self.now > self.peak {
            (self.peak, self.peak_ticks) = (self.now, block.ticks);
            for node in std::mem::take(&mut self.changed) {
                self.has_changed[node as usize] = false;
                let figures = &mut self.nodes[node as usize];
                (figures.peak_blocks, figures.peak_bytes) = (figures.live_blocks, figures.live_bytes);
            }
        }
    }

    fn take(&mut self, place: Place, ticks: u64) {
        let mut block = self.given_before.get_mut(&place).and_then(VecDeque::pop_front);
        match block {
            Some(_) => {
                self.displaced -= 1;
                if self.given_before.get(&place).is_some_and(VecDeque::is_empty) {
                    self.given_before.remove(&place);
                }
            }
            None => block = self.live.remove(&place),
        }
        match block {
            Some(block) => self.end(block, ticks, true),
            // A trace may free what it never allocated, as often as it wants.
            None if self.is_shared && self.freed_before.len() < MAX_LIVE_BLOCKS => {
                *self.freed_before.entry(place).or_default() += 1;
            }
            // Of blocks that were no samples some ends are told.
            None if self.problems.beyond > 0 || self.sample > 0 => {}
            None => self.problems.unknown += 1,
        }
    }

    /// A block is gone; `was_live`: it was counted as being there.
    fn end(&mut self, block: Block, ticks: u64, was_live: bool) {
        if was_live {
            self.change(block.node);
            self.now = self.now.saturating_sub(block.size);
        }
        let figures = self.figures(block.node);
        if was_live {
            figures.live_blocks = figures.live_blocks.saturating_sub(block.count);
            figures.live_bytes = figures.live_bytes.saturating_sub(block.size);
        }
        figures.freed_blocks = figures.freed_blocks.saturating_add(block.count);
        figures.freed_bytes = figures.freed_bytes.saturating_add(block.size);
        let lifetime = ticks.saturating_sub(block.ticks).saturating_mul(block.count);
        figures.lifetime_ticks = figures.lifetime_ticks.saturating_add(lifetime);
    }
}

impl CallObserver for Heap {
    #[inline]
    fn call(&mut self, _call: &Call) {}

    fn symbols(&mut self, symbols: &Symbols) {
        for allocations in symbols.tables().iter().filter_map(|table| table.module.allocations.as_ref()) {
            self.is_shared |= allocations.shared_memory;
            self.sample = self.sample.max(allocations.sample);
        }
    }

    fn allocation(&mut self, lane: LaneId, NodeId(node): NodeId, allocation: &Allocation, ticks: u64) {
        self.records += 1;
        let owner = if self.is_shared { SHARED } else { lane.recorder };
        match *allocation {
            Allocation::Allocated { pointer, size } => {
                let (count, size) = self.weigh(size);
                self.give((owner, pointer), Block { count, size, node, ticks }, false);
            }
            Allocation::ResizedTo { pointer, size } => {
                let (count, size) = self.weigh(size);
                self.give((owner, pointer), Block { count, size, node, ticks }, true);
            }
            Allocation::Freed { pointer } | Allocation::ResizedFrom { pointer } => {
                self.take((owner, pointer), ticks);
            }
            Allocation::Failed { .. } => self.figures(node).failed += 1,
            Allocation::Grown { memory, before, pages } => match before {
                Some(before) => {
                    let figures = self.figures(node);
                    figures.grown_pages = figures.grown_pages.saturating_add(pages);
                    self.pages.insert((owner, memory), before.saturating_add(pages));
                }
                None => self.figures(node).failed_growths += 1,
            },
            Allocation::Created { size } => {
                let (count, size) = self.weigh(size);
                let figures = self.figures(node);
                figures.objects = figures.objects.saturating_add(count);
                figures.object_bytes = figures.object_bytes.saturating_add(size);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heap(is_shared: bool, records: &[(u32, Allocation)]) -> Heap {
        let mut heap = Heap::new(is_shared);
        for (ticks, (recorder, record)) in (1..).zip(records) {
            let lane = LaneId { recorder: *recorder, stack: 0 };
            heap.allocation(lane, NodeId(1 + ticks as u32 % 2), record, ticks);
        }
        heap
    }

    const fn given(pointer: u64, size: u64) -> Allocation {
        Allocation::Allocated { pointer, size }
    }

    const fn freed(pointer: u64) -> Allocation {
        Allocation::Freed { pointer }
    }

    #[test]
    fn blocks_are_followed_to_their_end() {
        let records = [
            (0, given(8, 100)),
            (0, given(16, 50)),
            (0, freed(8)),
            (0, Allocation::ResizedFrom { pointer: 16 }),
            (0, Allocation::ResizedTo { pointer: 24, size: 70 }),
        ];
        let heap = heap(false, &records);
        let total = heap.total();
        assert_eq!((total.blocks, total.bytes, total.resized), (3, 220, 1));
        assert_eq!((total.freed_blocks, total.freed_bytes, total.lifetime_ticks), (2, 150, 4));
        assert_eq!((total.live_blocks, total.live_bytes), (1, 70));
        assert_eq!((heap.peak(), total.peak_blocks, total.peak_bytes), ((150, 2), 2, 150));
        assert_eq!((heap.of(NodeId(2)).peak_bytes, heap.of(NodeId(1)).peak_bytes), (100, 50));
        assert_eq!(heap.problems(), HeapProblems::default());
    }

    #[test]
    fn each_instance_has_its_own_addresses() {
        let records = [(0, given(8, 1)), (1, given(8, 2)), (0, freed(8))];
        assert_eq!(heap(false, &records).total().live_bytes, 2);
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let heap =
            heap(false, &[(0, freed(8)), (0, given(8, 4)), (0, given(8, 5)), (0, freed(8)), (0, freed(8))]);
        assert_eq!(heap.problems(), HeapProblems { unknown: 2, given_twice: 1, beyond: 0 });
        assert_eq!((heap.total().live_bytes, heap.warnings().len()), (0, 2));
    }

    #[test]
    fn threads_may_come_in_any_order() {
        // One allocates three times, the other frees each; in the order of their blocks.
        let allocates = [(0, given(8, 4)), (0, given(8, 5)), (0, given(8, 6))];
        let frees = [(1, freed(8)), (1, freed(8)), (1, freed(8))];
        for records in [[allocates, frees].concat(), [frees, allocates].concat()] {
            let heap = heap(true, &records);
            let total = heap.total();
            assert_eq!((total.live_blocks, total.freed_bytes, heap.problems().unknown), (0, 15, 0));
        }
    }
}
