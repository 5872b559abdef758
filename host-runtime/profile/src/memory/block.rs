//! Blocks of memory, and what happens to them.

use crate::memory::figures::Count;
use crate::memory::modules::Memory;

/// A block that is there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// How many blocks it stands for, and their bytes: one, if it is no sample.
    pub(super) count: Count,
    pub(super) size: u64,
    pub(super) node: u32,
    pub(super) recorder: u32,
    pub(super) ticks: u64,
}

/// Where a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Place {
    pub(super) memory: Memory,
    pub(super) pointer: u64,
}

/// What happened to a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    /// When it was, on its recorder's clock.
    pub(super) ticks: u64,
    pub(super) place: Place,
    pub(super) recorder: u32,
    pub(super) node: u32,
    /// How many bytes a block has that is there now, and whether another was resized to it; `None`: it is gone.
    pub(super) given: Option<(u64, bool)>,
}

impl Change {
    pub(super) fn is_given(&self) -> bool {
        self.given.is_some()
    }
}

/// Ends at an address that were told before their blocks, or that have still to be told of blocks before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ends {
    pub(super) count: u32,
    /// When the last of them was told, or the address was given last, in ticks, and by which recorder.
    pub(super) ticks: u64,
    pub(super) recorder: u32,
}

impl Ends {
    pub(super) fn add(&mut self, ticks: u64, recorder: u32) {
        *self = Ends { count: self.count.saturating_add(1), ticks, recorder };
    }
}
