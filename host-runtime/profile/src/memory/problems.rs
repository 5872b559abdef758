//! Impossible records of memory, and those that can't be followed.

/// Records that contradict each other, or that are over a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapProblems {
    /// Blocks that were freed or resized, and whose allocation isn't in the trace.
    pub unknown: u64,
    /// Blocks that were allocated at the address of a live block.
    pub given_twice: u64,
    /// Allocations over [`MAX_LIVE_BLOCKS`](crate::MAX_LIVE_BLOCKS).
    pub over_limit: u64,
    /// Records that came too late for the order of time. On a shared memory, the functions of their blocks are a guess
    /// then.
    pub reordered: u64,
    /// Blocks and frees over [`MAX_DISPLACED`](crate::MAX_DISPLACED).
    pub displaced: u64,
    /// Records of an unknown memory, where modules have several.
    pub unplaced: u64,
    /// Calls of allocators that were made while another had been ended by a trap or an exception, before the host noticed.
    pub lost: u64,
}
