//! The memory that a recording takes, and its limit.

use kperf_abi::block::CAPACITY;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The least limit: a lane, a queue and the writer.
const LEAST: usize = 1 << 20;
/// What the writer takes: a block, the block packed, and buffers on their way.
const WRITER: usize = 4 * CAPACITY;

/// How many bytes of a limit are for the queue, and how many for lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Division {
    pub(crate) queue: usize,
    pub(crate) lanes: usize,
}

impl Division {
    /// Divides a limit. The queue gets what it wants, but at most a quarter.
    pub(crate) fn of(limit: usize, queue_bytes: usize) -> Division {
        let limit = limit.max(LEAST);
        let queue = queue_bytes.min(limit / 4);
        Division { queue, lanes: limit - queue - WRITER }
    }
}

/// The memory of lanes, those that wait to be reused too.
#[derive(Debug)]
pub(crate) struct MemoryUse {
    limit: usize,
    used: AtomicUsize,
}

/// A part of the memory, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Grant {
    of: Arc<MemoryUse>,
    bytes: AtomicUsize,
}

impl MemoryUse {
    pub(crate) fn new(limit: usize) -> Arc<MemoryUse> {
        Arc::new(MemoryUse { limit, used: AtomicUsize::new(0) })
    }

    /// In bytes.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Whether more than half of it is used.
    pub(crate) fn is_half_used(&self) -> bool {
        self.used() > self.limit / 2
    }

    /// Takes so many bytes, if there are as many.
    pub(crate) fn grant(self: &Arc<MemoryUse>, bytes: usize) -> Option<Grant> {
        let grant = self.nothing();
        grant.grow(bytes).then_some(grant)
    }

    /// Takes no bytes.
    pub(crate) fn nothing(self: &Arc<MemoryUse>) -> Grant {
        Grant { of: self.clone(), bytes: AtomicUsize::new(0) }
    }
}

impl Grant {
    /// Takes so many bytes more. Returns whether there were as many.
    pub(crate) fn grow(&self, more: usize) -> bool {
        let sum = |used: usize| used.checked_add(more).filter(|&sum| sum <= self.of.limit);
        let is_granted = self.of.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum).is_ok();
        if is_granted {
            self.bytes.fetch_add(more, Ordering::Relaxed);
        }
        is_granted
    }

    /// Gives all of it back.
    pub(crate) fn give_back(&self) {
        self.of.used.fetch_sub(self.bytes.swap(0, Ordering::Relaxed), Ordering::Relaxed);
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        self.give_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_granted_stays_below_the_limit_and_comes_back() {
        let memory = MemoryUse::new(100);
        let first = memory.grant(60).expect("room");
        assert!(memory.grant(41).is_none() && memory.grant(usize::MAX).is_none());
        assert!(first.grow(40) && !first.grow(1));
        assert_eq!((memory.used(), memory.is_half_used()), (100, true));
        drop(first);
        assert_eq!((memory.used(), memory.is_half_used()), (0, false));
    }

    #[test]
    fn the_parts_of_a_limit_are_no_more_than_it() {
        for limit in [0, LEAST, 1 << 25, usize::MAX] {
            let Division { queue, lanes } = Division::of(limit, 256 * CAPACITY);
            assert!(queue >= 2 * CAPACITY && lanes >= 128 << 10);
            assert_eq!(queue + lanes + WRITER, limit.max(LEAST));
        }
    }
}
