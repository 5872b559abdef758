//! What a sample says of its thread.

/// A sample that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) time: u64,
    /// Whether it found out which calls are open.
    pub(crate) whole: bool,
    /// Where in its code the innermost call is; 0 if none is open.
    pub(crate) address: usize,
    /// What the thread did until then, if known.
    pub(crate) spent: Option<Spent>,
}

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
