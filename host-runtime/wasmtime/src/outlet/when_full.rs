//! What happens if the queue is full.

/// What happens to a block of events for which the queue has no room; see [`Builder::when_full`](crate::Builder::when_full).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// The guest waits for the writer. But a store that was ever called by one of the `call_async` methods (or linked by
    /// [`Recorder::link_async`](crate::Recorder::link_async)) drops its block, since a thread that waits would hold up all other
    /// tasks of its executor. On Linux so does one that is called asynchronously without these: its guest runs on a stack of its own.
    #[default]
    WaitUnlessAsync,
    /// The guest waits for the writer, always. Nothing is lost for lack of room. What [`StallTotal`](crate::StallTotal) counts
    /// are these times.
    Wait,
    /// The block is dropped, always. No guest ever waits.
    Drop,
}

impl WhenFull {
    /// Whether a lane waits, which was called asynchronously or not.
    pub(crate) fn waits(self, is_async: bool) -> bool {
        match self {
            WhenFull::WaitUnlessAsync => !is_async,
            WhenFull::Wait => true,
            WhenFull::Drop => false,
        }
    }
}
