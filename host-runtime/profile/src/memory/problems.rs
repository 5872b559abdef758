//! What records of memory say that can't be, or that can't be followed.

/// What didn't fit together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapProblems {
    /// Blocks that were freed or resized, and whose allocation isn't in the trace.
    pub unknown: u64,
    /// Blocks that were given once more although they were there.
    pub given_twice: u64,
    /// Allocations beyond [`MAX_LIVE_BLOCKS`](crate::MAX_LIVE_BLOCKS).
    pub beyond: u64,
    /// Records that came too late to be brought into the order of time. On a shared memory it is a guess then which function their
    /// blocks are told of.
    pub reordered: u64,
    /// Blocks and ends beyond [`MAX_DISPLACED`](crate::MAX_DISPLACED).
    pub displaced: u64,
    /// Records of which nobody knows whose memory they are about, where modules have several.
    pub unplaced: u64,
    /// Calls of allocators that were made while another had been ended by a trap or an exception, before the host noticed.
    pub lost: u64,
}
