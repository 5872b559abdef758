//! How a thread spends its time.

/// How a thread has spent its time so far, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    /// On a processor, without samples.
    pub(crate) running: u64,
    /// On a processor for samples.
    pub(crate) sampling: u64,
    /// Ready to run, without a processor; 0 where the system doesn't say it.
    pub(crate) waiting: u64,
    /// How many times it gave its processor up to wait for something; `None` if it is not known here.
    pub(crate) waits: Option<u64>,
}
