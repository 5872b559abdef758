//! Brings the records of several threads into one order.
//!
//! Each lane's records come in the order of time, but its blocks come when they are full. And a ticker gives many records the same
//! time. What is certain is that a block is given before it is freed, and freed before its address is given again. So of the records of
//! one time those wait that can't be, for those of others that make them possible. They wait no longer: what is behind them
//! in their lane would come too late for others.

use crate::memory::block::{Change, Place};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

/// How many records wait for those of other lanes, at most: so many while there is one lane only, whose memory nobody shares.
const MAX_ALONE: usize = 1 << 16;
/// And so many else.
const MAX_WAITING: usize = 1 << 21;

/// Which of the records of one time come first: what others waited for to be possible, for they were there before; then ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Waited,
    End,
    Given,
}

/// A lane whose next record can come out, ordered by that.
type Ready = Reverse<(u64, Rank, usize)>;

/// The records that wait.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    lanes: Vec<VecDeque<(u64, Change)>>,
    by_recorder: FxHashMap<u32, usize>,
    ready: BinaryHeap<Ready>,
    /// Lanes whose next record can't be now: its time, and at what place.
    blocked: BTreeSet<(u64, usize)>,
    by_place: BTreeSet<(Place, bool, u64, usize)>,
    waiting: usize,
    /// Whether a record of a shared memory came.
    is_shared: bool,
}

impl Order {
    /// One record more of a lane.
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

    /// Whether so many wait that the next must come out.
    pub(super) fn is_full(&self) -> bool {
        let is_alone = self.lanes.len() == 1 && !self.is_shared;
        self.waiting > if is_alone { MAX_ALONE } else { MAX_WAITING }
    }

    /// The next record, and its time. `is_live` tells whether a block is at a place.
    pub(super) fn next(&mut self, is_live: impl Fn(&Place) -> bool) -> Option<(u64, Change)> {
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

    /// A block is at a place now, or no more: the first that waits for that can go on.
    pub(super) fn changed(&mut self, place: Place, is_live: bool) {
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

    /// The next record of a lane that has waited as long as it may.
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
