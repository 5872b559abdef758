//! Blocks of memory, and changes of them.

use crate::memory::figures::Count;
use crate::memory::modules::Memory;

/// A live block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// How many blocks it represents, and their bytes: one, if it isn't a sample.
    pub(super) count: Count,
    pub(super) size: u64,
    pub(super) node: u32,
    pub(super) recorder: u32,
    pub(super) ticks: u64,
}

/// The address of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Address {
    pub(super) memory: Memory,
    pub(super) pointer: u64,
}

/// An allocation or a free.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    /// When, on the recorder's clock.
    pub(super) ticks: u64,
    pub(super) place: Address,
    pub(super) recorder: u32,
    pub(super) node: u32,
    /// The bytes of the allocated block, and whether another was resized to it; `None` for a free.
    pub(super) given: Option<(u64, bool)>,
}

impl Change {
    pub(super) fn is_given(&self) -> bool {
        self.given.is_some()
    }
}

/// Frees at an address that were read before their allocations, or that are yet to be read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ends {
    pub(super) count: u32,
    /// When the last of them was read, or the address was allocated last, in ticks, and by which recorder.
    pub(super) ticks: u64,
    pub(super) recorder: u32,
}

impl Ends {
    pub(super) fn add(&mut self, ticks: u64, recorder: u32) {
        *self = Ends { count: self.count.saturating_add(1), ticks, recorder };
    }
}
