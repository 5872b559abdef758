//! Brings the records of several threads into the order of time.

use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};

/// How many records wait for those of other lanes, at most: so many while there is one lane only, and so many when there are several.
const MAX_ALONE: usize = 1 << 16;
const MAX_WAITING: usize = 1 << 21;

/// Records of lanes, each of which comes in the order of time. They come out in the order of all: a lane's block may come long before
/// an older one of another lane.
#[derive(Clone, Debug)]
pub(super) struct Order<T> {
    lanes: Vec<VecDeque<(u64, T)>>,
    by_recorder: FxHashMap<u32, usize>,
    /// The first record of each lane that has one: its time, and the lane.
    first: BinaryHeap<Reverse<(u64, usize)>>,
    waiting: usize,
    most: [usize; 2],
}

impl<T> Default for Order<T> {
    fn default() -> Self {
        Order::with_limits(MAX_ALONE, MAX_WAITING)
    }
}

impl<T> Order<T> {
    fn with_limits(alone: usize, most: usize) -> Order<T> {
        Order {
            lanes: Vec::new(),
            by_recorder: FxHashMap::default(),
            first: BinaryHeap::new(),
            waiting: 0,
            most: [alone, most],
        }
    }

    /// A record of a recorder, at a time. Answers the oldest one if too many wait.
    pub(super) fn push(&mut self, recorder: u32, ticks: u64, record: T) -> Option<(u64, T)> {
        let next = self.lanes.len();
        let lane = *self.by_recorder.entry(recorder).or_insert(next);
        if lane == next {
            self.lanes.push(VecDeque::new());
        }
        let queue = &mut self.lanes[lane];
        // A damaged trace may say anything; a recorder's stacks may differ by a reading of the clock.
        let ticks = queue.back().map_or(ticks, |&(last, _)| ticks.max(last));
        if queue.is_empty() {
            self.first.push(Reverse((ticks, lane)));
        }
        queue.push_back((ticks, record));
        self.waiting += 1;
        if self.waiting > self.most[usize::from(self.lanes.len() > 1)] { self.pop() } else { None }
    }

    /// The oldest record.
    pub(super) fn pop(&mut self) -> Option<(u64, T)> {
        let mut first = self.first.peek_mut()?;
        let queue = self.lanes.get_mut(first.0.1)?;
        let record = queue.pop_front();
        match queue.front() {
            Some(&(ticks, _)) => first.0.0 = ticks,
            None => {
                *queue = VecDeque::new();
                PeekMut::pop(first);
            }
        }
        self.waiting = self.waiting.saturating_sub(1);
        record
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_lanes_come_out_in_the_order_of_time() {
        let mut order = Order::with_limits(2, 5);
        let pushed = [(0, 4), (0, 6), (1, 1), (1, 5), (2, 3)];
        assert!(pushed.iter().all(|&(lane, ticks)| order.push(lane, ticks, ticks).is_none()));
        // One more than may wait.
        assert_eq!(order.push(2, 7, 7), Some((1, 1)));
        // It is late.
        assert_eq!(order.push(3, 0, 0), Some((0, 0)));
        let rest: Vec<u64> = std::iter::from_fn(|| order.pop()).map(|(ticks, _)| ticks).collect();
        assert_eq!(rest, [3, 4, 5, 6, 7]);
    }
}
