//! Follows the blocks of memory that calls allocate and free.

#[cfg(test)]
mod tests;

use crate::memory::block::{Address, Block, Change, Ends};
use crate::memory::curve::{Curve, Moment};
use crate::memory::cut::CutOffCalls;
use crate::memory::figures::{Count, HeapFigures};
use crate::memory::modules::{Memory, Modules};
use crate::memory::order::Order;
use crate::memory::problems::HeapProblems;
use crate::symbols::{HOST, Symbols};
use crate::tree::nodes::{CallTree, Node, NodeId};
use crate::tree::observer::{Call, CallObserver};
use kperf_abi::FuncId;
use kperf_trace::{Allocation, ClockKind, Header, LaneId};
use rustc_hash::{FxHashMap, FxHashSet};

/// How many blocks are followed from their allocation to their end. Blocks over the limit count as allocated, and as
/// nothing else.
pub const MAX_LIVE_BLOCKS: usize = 1 << 22;

/// In shared memory: how many addresses may be allocated again before their free was read, and how many may be freed before
/// their allocation was read. More are [`HeapProblems`].
pub const MAX_DISPLACED: usize = 1 << 18;

/// How far the times of two threads may differ from the real order: a page's clock is coarse, and each of its threads has
/// its own. Where a ticker isn't run, some threads ask for the time and others take the last tick.
const CLOCKS_SECONDS: f64 = 50e-6;
const TICKER_SECONDS: f64 = 20e-3;

/// How late a thread that lost its processor may record its allocator's work, at most.
const LATE_SECONDS: f64 = 1.0;

/// Bytes of a page of memory.
pub const PAGE: u64 = 1 << 16;

/// Follows the blocks of a trace, as an observer of its calls. Its memory: figures for each node of the call tree, and the
/// blocks that are there at a time, [`MAX_LIVE_BLOCKS`] at most.
#[derive(Clone, Debug, Default)]
pub struct Heap {
    /// By node of the call tree.
    nodes: Vec<HeapFigures>,
    live: FxHashMap<Address, Block>,
    /// Addresses that were allocated again before their free was read, and those that were freed before their allocation
    /// was read.
    pub(super) given_before: FxHashMap<Address, Ends>,
    pub(super) freed_before: FxHashMap<Address, Ends>,
    /// When outdated ends in `freed_before` were removed last.
    cleared: u64,
    /// Addresses whose last free came before its allocation.
    shifted: FxHashSet<Address>,
    /// Changes that wait for earlier ones of other threads.
    pub(super) order: Order,
    /// By how many ticks clocks of threads may differ; `None`: they have nothing in common.
    pub(super) slack: Option<u64>,
    /// Whether many records have the same time.
    pub(super) is_coarse: bool,
    /// An end that is later by so many ticks does not belong to the earlier block.
    late: u64,
    /// The time of the last change that came out of `order`.
    settled: u64,
    pub(super) modules: Modules,
    /// Bytes between two samples, on average; 0 if all was recorded.
    pub(super) sample: u64,
    /// How many bytes there are, and were at most.
    now: u64,
    peak: u64,
    peak_ticks: u64,
    curve: Curve,
    pub(super) cut: CutOffCalls,
    /// The nodes whose figures have changed since the peak.
    changed: Vec<u32>,
    /// Whether a node is among these; by node.
    has_changed: Vec<bool>,
    /// How many pages each memory had last, by its index in the module.
    pages: FxHashMap<(Memory, u32), u64>,
    pub(super) problems: HeapProblems,
    records: u64,
}

impl Heap {
    /// An empty heap of a trace with this header.
    pub fn of(header: &Header) -> Heap {
        let mut heap = Heap::default();
        heap.begin(header);
        heap
    }

    /// The figures of a node's calls, without those that they made.
    pub fn of_node(&self, node: NodeId) -> HeapFigures {
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

    /// How many pages the memories that grew had last, all together.
    pub fn pages(&self) -> u64 {
        self.pages.values().fold(0, |sum, &pages| sum.saturating_add(pages))
    }

    /// How many records there were.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The tree with blocks in the place of calls, and bytes in the place of times. Allocations of the host and of functions
    /// without probes are a path of [`HOST`] below the root, which is the last node.
    pub fn tree(&self, tree: &CallTree, weigh: impl Fn(&HeapFigures) -> (Count, u64)) -> CallTree {
        let mut nodes: Vec<Node> = tree.nodes().to_vec();
        let host = self.of_node(CallTree::ROOT);
        for (index, node) in (0u32..).zip(&mut nodes) {
            let figures = if index == 0 { HeapFigures::default() } else { self.of_node(NodeId(index)) };
            weighed(node, weigh(&figures));
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

    /// The weight of a sampled block: how many blocks and bytes it represents.
    fn weigh(&self, size: u64) -> (Count, u64) {
        if self.sample == 0 {
            return (Count::ONE, size);
        }
        let probability = -(-(size as f64) / self.sample as f64).exp_m1();
        // A block of no bytes is a sample only in a damaged trace.
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

    /// The next of the changes that wait.
    fn step(&mut self) -> bool {
        let live = &self.live;
        let Some((at, change)) = self.order.next(|place| live.contains_key(place)) else { return false };
        let Change { ticks, place, recorder, node, given } = change;
        self.problems.reordered += u64::from(at < self.settled);
        self.settled = self.settled.max(at);
        match given {
            Some((size, resized)) => {
                let (count, size) = self.weigh(size);
                self.give(place, Block { count, size, node, recorder, ticks }, resized);
            }
            None => self.take(place, recorder, ticks),
        }
        if place.memory.is_shared() {
            self.order.changed(place, self.live.contains_key(&place));
        }
        true
    }

    /// Whether the free of a block that is allocated now was read already, from a thread with a slow clock.
    fn was_freed_before(&mut self, place: Address, recorder: u32, ticks: u64) -> bool {
        let Some(ends) = self.freed_before.get_mut(&place) else { return false };
        // A thread knows the order of its own calls.
        if ends.recorder == recorder {
            return false;
        }
        let is_late = self.slack.is_none_or(|slack| ends.ticks.saturating_add(slack) < ticks);
        // A clock is slow now and then. If it happens at one address twice in a row, a free without an allocation has
        // shifted all later ones.
        if is_late || !self.shifted.insert(place) {
            let count = ends.count;
            self.freed_before.remove(&place);
            self.unknown(count);
            return false;
        }
        ends.count -= 1;
        if ends.count == 0 {
            self.freed_before.remove(&place);
        }
        true
    }

    fn give(&mut self, place: Address, block: Block, resized: bool) {
        let figures = self.figures(block.node);
        figures.blocks.add(block.count);
        figures.bytes = figures.bytes.saturating_add(block.size);
        if resized {
            figures.resized.add(block.count);
        }
        if self.was_freed_before(place, block.recorder, block.ticks) {
            // The block was freed at the tick at which it was allocated.
            figures_of_ended(self.figures(block.node), &block, block.ticks);
            return;
        }
        if self.live.len() >= MAX_LIVE_BLOCKS && !self.live.contains_key(&place) {
            self.problems.over_limit += 1;
            return;
        }
        if let Some(before) = self.live.insert(place, block) {
            // The block before is gone; its free is yet to be read.
            self.block_ends(before, block.ticks);
            if !place.memory.is_shared() {
                self.problems.given_twice += 1;
            } else if self.given_before.len() < MAX_DISPLACED || self.given_before.contains_key(&place) {
                self.given_before.entry(place).or_default().add(block.ticks, block.recorder);
            } else {
                self.problems.displaced += 1;
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

    fn take(&mut self, place: Address, recorder: u32, ticks: u64) {
        // A thread that frees its own block means that block, whatever frees of earlier blocks are yet to be read.
        let is_of_same_recorder = self.live.get(&place).is_some_and(|block| block.recorder == recorder);
        if !is_of_same_recorder && self.was_given_before(place, ticks) {
            return;
        }
        match self.live.remove(&place) {
            Some(block) => {
                if !self.shifted.is_empty() {
                    self.shifted.remove(&place);
                }
                self.block_ends(block, ticks.max(block.ticks));
            }
            None if place.memory.is_shared() && self.slack.is_some() => {
                self.free_before(place, recorder, ticks)
            }
            None => self.unknown(1),
        }
    }

    /// Whether this free is of an earlier block at an address that was allocated again since.
    fn was_given_before(&mut self, place: Address, ticks: u64) -> bool {
        let Some(ends) = self.given_before.get_mut(&place) else { return false };
        if ends.ticks.saturating_add(self.late) < ticks {
            self.problems.given_twice += u64::from(ends.count);
            self.given_before.remove(&place);
            return false;
        }
        ends.count -= 1;
        if ends.count == 0 {
            self.given_before.remove(&place);
        }
        true
    }

    /// A block was freed before its allocation was read. A trace may free any number of blocks that it never allocated.
    fn free_before(&mut self, place: Address, recorder: u32, ticks: u64) {
        let slack = self.slack.unwrap_or(0);
        if self.freed_before.len() >= MAX_DISPLACED && self.cleared.saturating_add(slack) < ticks {
            self.cleared = ticks;
            let mut unknown = 0;
            self.freed_before.retain(|_, ends| {
                let may_be_known = ends.ticks.saturating_add(slack) >= ticks;
                unknown += if may_be_known { 0 } else { ends.count };
                may_be_known
            });
            self.unknown(unknown);
        }
        if self.freed_before.len() < MAX_DISPLACED || self.freed_before.contains_key(&place) {
            self.freed_before.entry(place).or_default().add(ticks, recorder);
        } else {
            self.problems.displaced += 1;
        }
    }

    /// `count` blocks were freed that were never allocated.
    fn unknown(&mut self, count: u32) {
        // The frees of some unsampled blocks are recorded.
        if self.problems.over_limit == 0 && self.sample == 0 {
            self.problems.unknown += u64::from(count);
        }
    }

    /// A block was freed, or its address was allocated again.
    fn block_ends(&mut self, block: Block, ticks: u64) {
        self.change(block.node);
        self.now = self.now.saturating_sub(block.size);
        self.curve.take(ticks, block.size);
        let figures = self.figures(block.node);
        figures.live_blocks.subtract(block.count);
        figures.live_bytes = figures.live_bytes.saturating_sub(block.size);
        figures_of_ended(figures, &block, ticks);
    }
}

/// Counts a freed block.
fn figures_of_ended(figures: &mut HeapFigures, block: &Block, ticks: u64) {
    figures.freed_blocks.add(block.count);
    figures.freed_bytes = figures.freed_bytes.saturating_add(block.size);
    let lifetime = block.count.times(ticks.saturating_sub(block.ticks));
    figures.lifetime_ticks = figures.lifetime_ticks.saturating_add(lifetime);
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
        self.modules.add(symbols);
        for allocations in symbols.tables().iter().filter_map(|table| table.module.allocations.as_ref()) {
            self.sample = self.sample.max(allocations.sample);
        }
    }

    fn begin(&mut self, header: &Header) {
        let ticks = |seconds: f64| (seconds * header.clock.ticks_per_second) as u64;
        self.late = ticks(LATE_SECONDS);
        self.is_coarse = header.clock.kind == ClockKind::Ticker;
        self.slack = match header.clock.kind {
            ClockKind::Precise => Some(ticks(CLOCKS_SECONDS)),
            ClockKind::Ticker => Some(ticks(TICKER_SECONDS)),
            ClockKind::Instructions => None,
        };
    }

    fn allocation(
        &mut self,
        LaneId { recorder, .. }: LaneId,
        NodeId(node): NodeId,
        by: FuncId,
        allocation: &Allocation,
        ticks: u64,
    ) {
        self.records += 1;
        let (memory, is_known) = self.modules.memory(recorder, by);
        self.problems.unplaced += u64::from(!is_known);
        let (pointer, given) = match *allocation {
            Allocation::Allocated { pointer, size } => (pointer, Some((size, false))),
            Allocation::ResizedTo { pointer, size } => (pointer, Some((size, true))),
            Allocation::Freed { pointer } | Allocation::ResizedFrom { pointer } => (pointer, None),
            Allocation::Failed { .. } => {
                self.figures(node).failed += 1;
                return;
            }
            Allocation::Grown { memory: index, before, pages } => {
                match before {
                    Some(before) => {
                        let figures = self.figures(node);
                        figures.grown_pages = figures.grown_pages.saturating_add(pages);
                        self.pages.insert((memory, index), before.saturating_add(pages));
                    }
                    None => self.figures(node).failed_growths += 1,
                }
                return;
            }
            Allocation::Created { size } => {
                let (count, size) = self.weigh(size);
                self.curve.create(ticks, size);
                let figures = self.figures(node);
                figures.objects.add(count);
                figures.object_bytes = figures.object_bytes.saturating_add(size);
                return;
            }
        };
        let change = Change { ticks, place: Address { memory, pointer }, recorder, node, given };
        self.order.push(self.slack.map_or(0, |_| ticks), change);
        if self.order.is_full() {
            self.step();
        }
    }

    fn end(&mut self) {
        while self.step() {}
    }
}
