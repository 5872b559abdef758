//! What happens if the queue is full.

/// What happens to a block of events for which the queue has no room; see [`Builder::when_full`](crate::Builder::when_full).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// The guest waits for the writer. But a store that was ever called by one of the `call_async` methods (or linked by
    /// [`Recorder::link_async`](crate::Recorder::link_async)) drops its block, since a waiting thread would hold up all other
    /// tasks of its executor. On Linux, asynchronous calls without these methods are recognized too, by the guest's stack.
    #[default]
    WaitUnlessAsync,
    /// The guest always waits for the writer, and no event is lost for lack of room. [`StallTotal`](crate::StallTotal) counts
    /// these waits.
    Wait,
    /// The block is always dropped. No guest ever waits.
    Drop,
}

impl WhenFull {
    /// Whether a lane waits.
    pub(crate) fn waits(self, is_async: bool) -> bool {
        match self {
            WhenFull::WaitUnlessAsync => !is_async,
            WhenFull::Wait => true,
            WhenFull::Drop => false,
        }
    }
}
