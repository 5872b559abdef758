//! Brings records of several threads into one order.
//!
//! Each lane's records come in the order of time, but a lane's blocks come when they are full, and a ticker gives many
//! records the same time. A block is allocated before it is freed, and freed before its address is allocated again. So
//! among records of one time, an impossible one waits until others make it possible; it doesn't wait for later times, as
//! the records after it in its lane would be late too.

use crate::memory::block::{Address, Change};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

/// How many records wait at most while there is one lane, with a memory of its own.
const MAX_ALONE: usize = 1 << 16;
/// How many records wait at most otherwise.
const MAX_WAITING: usize = 1 << 21;

/// The order of records of one time: those that waited until they became possible, then frees, then allocations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Waited,
    End,
    Given,
}

/// A lane with a possible next record, ordered by it.
type Ready = Reverse<(u64, Rank, usize)>;

/// The records that wait.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    lanes: Vec<VecDeque<(u64, Change)>>,
    by_recorder: FxHashMap<u32, usize>,
    ready: BinaryHeap<Ready>,
    /// Lanes with an impossible next record: its time, and the lane.
    blocked: BTreeSet<(u64, usize)>,
    by_place: BTreeSet<(Address, bool, u64, usize)>,
    waiting: usize,
    /// Whether a record of a shared memory came.
    is_shared: bool,
}

impl Order {
    /// Adds a record of a lane.
    pub(super) fn push(&mut self, ticks: u64, change: Change) {
        let next = self.lanes.len();
        let lane = *self.by_recorder.entry(change.recorder).or_insert(next);
        if lane == next {
            self.lanes.push(VecDeque::new());
        }
        let Some(queue) = self.lanes.get_mut(lane) else { return };
        self.is_shared |= change.place.memory.is_shared();
        queue.push_back((ticks, change));
        self.waiting += 1;
        if queue.len() == 1 {
            self.make_ready(lane);
        }
    }

    /// Whether threads share a memory.
    pub(super) fn is_shared(&self) -> bool {
        self.is_shared && self.lanes.len() > 1
    }

    /// Whether too many wait.
    pub(super) fn is_full(&self) -> bool {
        let is_alone = self.lanes.len() == 1 && !self.is_shared;
        self.waiting > if is_alone { MAX_ALONE } else { MAX_WAITING }
    }

    /// The next record, and its time. `is_live`: whether a block is at an address.
    pub(super) fn next(&mut self, is_live: impl Fn(&Address) -> bool) -> Option<(u64, Change)> {
        loop {
            let blocked = self.blocked.first().copied();
            let Some(ready) = self.ready.peek_mut() else {
                return self.give_up(blocked?.1);
            };
            let Reverse((ticks, _, lane)) = *ready;
            if let Some((before, blocked)) = blocked
                && before < ticks
            {
                drop(ready);
                return self.give_up(blocked);
            }
            PeekMut::pop(ready);
            let &(ticks, change) = self.lanes.get(lane)?.front()?;
            let place = change.place;
            if place.memory.is_shared() && change.is_given() == is_live(&place) {
                self.blocked.insert((ticks, lane));
                self.by_place.insert((place, change.is_given(), ticks, lane));
                continue;
            }
            return self.take(lane);
        }
    }

    /// A block was allocated or freed at an address: the first record that waits for that can go on.
    pub(super) fn changed(&mut self, place: Address, is_live: bool) {
        if self.by_place.is_empty() {
            return;
        }
        let from = (place, !is_live, 0, 0);
        let first = self.by_place.range(from..).next().copied();
        if let Some((at, is_given, ticks, lane)) = first
            && (at, is_given) == (place, !is_live)
        {
            self.blocked.remove(&(ticks, lane));
            self.by_place.remove(&(at, is_given, ticks, lane));
            self.ready.push(Reverse((ticks, Rank::Waited, lane)));
        }
    }

    fn make_ready(&mut self, lane: usize) {
        if let Some(&(ticks, change)) = self.lanes.get(lane).and_then(VecDeque::front) {
            let rank = if change.is_given() { Rank::Given } else { Rank::End };
            self.ready.push(Reverse((ticks, rank, lane)));
        }
    }

    /// The next record of a lane, possible or not.
    fn give_up(&mut self, lane: usize) -> Option<(u64, Change)> {
        let &(ticks, change) = self.lanes.get(lane)?.front()?;
        self.blocked.remove(&(ticks, lane));
        self.by_place.remove(&(change.place, change.is_given(), ticks, lane));
        self.take(lane)
    }

    fn take(&mut self, lane: usize) -> Option<(u64, Change)> {
        let queue = self.lanes.get_mut(lane)?;
        let record = queue.pop_front()?;
        if queue.is_empty() {
            *queue = VecDeque::new();
        }
        self.waiting = self.waiting.saturating_sub(1);
        self.make_ready(lane);
        Some(record)
    }
}
