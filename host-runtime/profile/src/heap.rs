//! What a trace says of memory: which calls allocated how much, what was freed, and what was left.

mod curve;
mod cut;
mod figures;
#[cfg(test)]
mod tests;

use crate::calls::{Call, CallObserver};
use crate::nodes::{CallTree, Node, NodeId};
use crate::symbols::{HOST, Symbols};
use kperf_trace::{Allocation, LaneId};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

use curve::Curve;
pub use curve::Moment;
use cut::Cut;
pub use figures::{Count, HeapFigures};

/// How many blocks are followed from their allocation to their end. Those beyond count as allocated, and as nothing else.
pub const MAX_LIVE_BLOCKS: usize = 1 << 22;

/// In shared memory, how many blocks are followed whose address was given once more before their end was told; and how many ends
/// that were told before their beginning. Others are told as [`HeapProblems`].
pub const MAX_DISPLACED: usize = 1 << 18;

/// Bytes of a page of memory.
pub const PAGE: u64 = 1 << 16;

/// What didn't fit together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapProblems {
    /// Blocks that were freed or resized, and whose allocation isn't in the trace.
    pub unknown: u64,
    /// Blocks that were given once more although they were there.
    pub given_twice: u64,
    /// Allocations beyond [`MAX_LIVE_BLOCKS`].
    pub beyond: u64,
    /// Blocks of a shared memory whose end was told before their beginning, or after that of the next block at their address. Which
    /// function they are told of is a guess.
    pub reordered: u64,
    /// Blocks and ends beyond [`MAX_DISPLACED`].
    pub displaced: u64,
    /// Calls of allocators that were made while another had been ended by a trap or an exception, before the host noticed.
    pub lost: u64,
}

/// A block that is there.
#[derive(Clone, Copy, Debug)]
struct Block {
    /// How many blocks it stands for, and their bytes: one, if it is no sample.
    count: Count,
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
    /// Whether a module of the trace has a memory that isn't shared.
    has_own: bool,
    /// What is told as freed may also be a part of free memory.
    has_spares: bool,
    /// One sample stands for so many bytes, on average; 0: all was recorded.
    sample: u64,
    /// How many bytes there are, and were at most.
    now: u64,
    peak: u64,
    peak_ticks: u64,
    curve: Curve,
    cut: Cut,
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

    /// How many bytes there were over time.
    pub fn moments(&self) -> Vec<Moment> {
        self.curve.moments()
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
        HeapProblems {
            unknown: self.problems.unknown.saturating_add(early),
            lost: self.cut.lost,
            ..self.problems
        }
    }

    /// Each a sentence without its full stop.
    pub fn warnings(&self) -> Vec<String> {
        let HeapProblems { unknown, given_twice, beyond, reordered, displaced, lost } = self.problems();
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
        if reordered > 0 {
            told.push(format!(
                "{reordered} blocks of a shared memory were told in another order than that of time: whose they are, bytes at the peak and \
                 how long blocks lived may be wrong"
            ));
        }
        if self.is_shared && self.has_own {
            told.push(
                "a shared memory and others are in one trace: blocks at the same address may be taken for one another".to_owned(),
            );
        }
        if self.is_shared && self.sample > 0 {
            told.push(
                "samples of a shared memory: what another thread or instance frees is not seen".to_owned(),
            );
        }
        if displaced > 0 {
            told.push(format!(
                "{displaced} blocks of a shared memory can't be followed: {MAX_DISPLACED} are whose threads' records come in another \
                 order. So bytes at the peak and at the end may be wrong"
            ));
        }
        if lost > 0 {
            told.push(format!(
                "what {lost} calls of an allocator did is not recorded: an allocator's call before them was ended by a trap or an \
                 exception, and the host called on without a word (call through the recorder: `Lane::call`, `kperf.call`)"
            ));
        }
        told
    }

    /// The tree with other weights: `calls` and self and total times are numbers of blocks and bytes, that a path has itself and
    /// with all that it called. What the host allocated itself, or a function that isn't in the trace, is a path of [`HOST`] below
    /// the root, the last of the nodes.
    pub fn tree(&self, tree: &CallTree, weigh: impl Fn(&HeapFigures) -> (Count, u64)) -> CallTree {
        let mut nodes: Vec<Node> = tree.nodes().to_vec();
        let host = self.of(CallTree::ROOT);
        for (index, node) in (0u32..).zip(&mut nodes) {
            let own = if index == 0 { HeapFigures::default() } else { self.of(NodeId(index)) };
            weighed(node, weigh(&own));
        }
        if host != HeapFigures::default() {
            let mut node = Node::new(CallTree::ROOT, HOST);
            weighed(&mut node, weigh(&host));
            nodes.push(node);
        }
        for index in (1..nodes.len()).rev() {
            let Node { parent, total_ticks, .. } = nodes[index];
            nodes[parent.index()].total_ticks = nodes[parent.index()].total_ticks.saturating_add(total_ticks);
        }
        CallTree::new(nodes)
    }

    /// How many blocks a block of so many bytes stands for, and how many bytes these have.
    fn weigh(&self, size: u64) -> (Count, u64) {
        if self.sample == 0 {
            return (Count::ONE, size);
        }
        let probability = -(-(size as f64) / self.sample as f64).exp_m1();
        // A block of no bytes is never a sample, unless a trace was made to deceive.
        let weight = 1.0 / probability.max(1.0 / self.sample as f64);
        (Count::of(weight), (size as f64 * weight).round() as u64)
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
        figures.blocks.add(block.count);
        figures.bytes = figures.bytes.saturating_add(block.size);
        if resized {
            figures.resized.add(block.count);
        }
        if let Some(count) = self.freed_before.get_mut(&place) {
            // It was freed by a thread whose events came first.
            *count -= 1;
            if *count == 0 {
                self.freed_before.remove(&place);
            }
            self.problems.reordered += 1;
            self.end(block, block.ticks, false);
            return;
        }
        if self.live.len() >= MAX_LIVE_BLOCKS && !self.live.contains_key(&place) {
            self.problems.beyond += 1;
            return;
        }
        if let Some(before) = self.live.insert(place, block) {
            if self.is_shared && self.displaced < MAX_DISPLACED {
                self.displaced += 1;
                self.given_before.entry(place).or_default().push_back(before);
            } else {
                let problem = if self.is_shared {
                    &mut self.problems.displaced
                } else {
                    &mut self.problems.given_twice
                };
                *problem += 1;
                self.end(before, block.ticks, true);
            }
        }
        self.change(block.node);
        let figures = self.figures(block.node);
        figures.live_blocks.add(block.count);
        figures.live_bytes = figures.live_bytes.saturating_add(block.size);
        self.now = self.now.saturating_add(block.size);
        self.curve.give(block.ticks, block.size, self.now);
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
                self.problems.reordered += 1;
                if self.given_before.get(&place).is_some_and(VecDeque::is_empty) {
                    self.given_before.remove(&place);
                }
            }
            None => block = self.live.remove(&place),
        }
        match block {
            Some(block) => self.end(block, ticks, true),
            // A trace may free what it never allocated, as often as it wants.
            None if self.is_shared && self.freed_before.len() < MAX_DISPLACED => {
                *self.freed_before.entry(place).or_default() += 1;
            }
            None if self.is_shared => self.problems.displaced += 1,
            // Of blocks that were no samples some ends are told.
            None if self.problems.beyond > 0 || self.sample > 0 || self.has_spares => {}
            None => self.problems.unknown += 1,
        }
    }

    /// A block is gone; `was_live`: it was counted as being there.
    fn end(&mut self, block: Block, ticks: u64, was_live: bool) {
        if was_live {
            self.change(block.node);
            self.now = self.now.saturating_sub(block.size);
            self.curve.take(ticks, block.size);
        }
        let figures = self.figures(block.node);
        if was_live {
            figures.live_blocks.subtract(block.count);
            figures.live_bytes = figures.live_bytes.saturating_sub(block.size);
        }
        figures.freed_blocks.add(block.count);
        figures.freed_bytes = figures.freed_bytes.saturating_add(block.size);
        let lifetime = block.count.times(ticks.saturating_sub(block.ticks));
        figures.lifetime_ticks = figures.lifetime_ticks.saturating_add(lifetime);
    }
}

/// Blocks and bytes in the place of calls and times.
fn weighed(node: &mut Node, (blocks, bytes): (Count, u64)) {
    *node = Node { calls: blocks.get(), self_ticks: bytes, total_ticks: bytes, hidden_calls: 0, ..*node };
}

impl CallObserver for Heap {
    #[inline]
    fn call(&mut self, call: &Call) {
        self.cut.call(call);
    }

    fn symbols(&mut self, symbols: &Symbols) {
        self.cut.symbols(symbols);
        for allocations in symbols.tables().iter().filter_map(|table| table.module.allocations.as_ref()) {
            self.is_shared |= allocations.shared_memory;
            self.has_own |= !allocations.shared_memory;
            self.sample = self.sample.max(allocations.sample);
            self.has_spares |= allocations.allocators.iter().any(|allocator| allocator.role == "insert");
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
                self.curve.create(ticks, size);
                let figures = self.figures(node);
                figures.objects.add(count);
                figures.object_bytes = figures.object_bytes.saturating_add(size);
            }
        }
    }
}
